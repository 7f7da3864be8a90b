//! The memory of a shard between two micro-batches.

use std::sync::Arc;

use super::clock::ShardClock;
use crate::batch::session_groups::SessionColumns;
use crate::core::interrupt::Interrupt;
use crate::keys::sort_key::SortKeys;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::state::page::PageKind;
use crate::state::run_writer::RunWriter;
use crate::state::segment_table::SegmentGrid;
use crate::state::snapshot::Snapshot;

/// The query, stream time and runs of a shard.
pub(super) struct ShardState {
    pub query: Arc<Query>,
    pub sort_keys: SortKeys,
    pub clock: ShardClock,
    pub grid: SegmentGrid,
    pub snapshot: Snapshot,
    pub limits: Limits,
    pub interrupt: Interrupt,
}

impl ShardState {
    /// The segment of each session, by its reach.
    pub(super) fn segments_of(&self, sessions: &SessionColumns) -> Vec<i64> {
        let reaches = sessions.extents.iter().map(|extent| extent.reach);
        reaches.map(|reach| self.grid.of(reach)).collect()
    }

    /// A writer for runs of sessions. `fingerprint` is the hash of the snapshot's fingerprint.
    pub(super) fn writer<'f>(&self, fingerprint: &'f str) -> RunWriter<'f> {
        RunWriter {
            kind: PageKind::Sessions,
            fingerprint,
            keys: self.query.keys.len(),
            page_bytes: self.limits.page_bytes,
            closed: self.clock.closed(),
        }
    }
}
