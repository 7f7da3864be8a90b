//! The keys of each run, where each run of a segment has a range of them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::hexadecimal;
use crate::core::time::Time;

/// The longest beginning of a key at which a range of keys begins.
const FROM_BYTES: usize = 256;

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
    /// What is in it.
    pub windows: WindowStatistics,
}

/// What is known of some windows without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowStatistics {
    /// How many of them are open.
    pub open: u64,
    /// When the first of the open ones is due.
    pub due: i64,
    /// The least end (of sliding windows: start) of the others, which are visible for some time yet.
    pub oldest: i64,
}

impl WindowStatistics {
    /// Of no window.
    pub const NONE: Self = Self {
        open: 0,
        due: i64::MAX,
        oldest: i64::MAX,
    };

    /// Adds an open window.
    pub fn add_open(&mut self, due: Time) {
        self.open += 1;
        self.due = self.due.min(due.0);
    }

    /// Adds a closed window.
    pub fn add_closed(&mut self, sort_time: Time) {
        self.oldest = self.oldest.min(sort_time.0);
    }

    /// Those of both together.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            open: self.open + other.open,
            due: self.due.min(other.due),
            oldest: self.oldest.min(other.oldest),
        }
    }

    /// Whether a window closes before a time, or a closed one leaves that ends (of sliding windows:
    /// starts) before another.
    pub fn change_before(&self, due: Time, kept: Time) -> bool {
        self.due < due.0 || self.oldest < kept.0
    }
}

/// Sorted rows in ranges of keys of about `most` rows, if keys allow it: where each begins, and its
/// rows. The first one begins at `from`; `name` is the sort key of a row.
pub(crate) fn divide<'n>(
    rows: usize,
    most: usize,
    from: Vec<u8>,
    name: impl Fn(usize) -> Option<&'n [u8]>,
) -> Vec<(Vec<u8>, Range<usize>)> {
    let most = most.max(1);
    let mut pieces = Vec::new();
    let (mut start, mut from) = (0, from);
    let mut at = most;
    while at < rows {
        let keys = name(at - 1).zip(name(at));
        match keys.and_then(|(before, key)| from_of(before, key)) {
            Some(next) => {
                pieces.push((std::mem::replace(&mut from, next), start..at));
                start = at;
                at += most;
            }
            None => at += 1,
        }
    }
    pieces.push((from, start..rows));
    pieces
}

/// The beginning of a key that is greater than the key before it; none where it is long, or both are
/// the same.
fn from_of(before: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    let from = key.get(..=same)?;
    (from.len() <= FROM_BYTES).then(|| from.to_vec())
}
