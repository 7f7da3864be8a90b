//! The part of a micro-batch that a shard keeps between two calls.

use std::collections::BTreeSet;

use super::incoming::Incoming;
use super::layout_parts::PartsRead;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::window::Horizon;
use crate::state::page::PageName;

/// What a shard keeps of a micro-batch while it waits for the pages.
pub(super) struct MicroBatch {
    pub incoming: Incoming,
    /// The times that judge its records.
    pub now: StreamTimes,
    /// The horizon that its records see.
    pub before: Horizon,
    /// The reads of sessions in parts. `None` for whole sessions, or for a state of another layout.
    pub parts: Option<PartsRead>,
    /// The pages that it needs.
    pub needed: BTreeSet<PageName>,
}
