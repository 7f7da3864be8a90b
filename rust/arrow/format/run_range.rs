//! The keys of each run, where each run of a segment has a range of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hexadecimal;

/// What the head says of the runs of each segment, in the order of their keys.
pub(crate) type RunRanges = BTreeMap<i64, Vec<RunRange>>;

/// What is known of a run without its pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunRange {
    /// The number of the run.
    pub run: u32,
    /// No sort key of the run is less, and none of the range before it is as great or greater.
    #[serde(with = "hexadecimal")]
    pub from: Vec<u8>,
    /// How many windows of it are open.
    pub open: u64,
    /// When the first of them is due.
    pub due: i64,
}
