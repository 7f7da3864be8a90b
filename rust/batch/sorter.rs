//! Sorts packed rows: returns the rows of each shard in time order.
//!
//! ```text
//!   rows ─▶ Packer ─▶ packed rows ─▶ (shuffle, sort by shard and first) ─▶ Sorter ─▶ rows of one shard after the other
//! ```

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::merger::Merger;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::plan::query::Query;

/// Sorts the packed rows of a query for rows. The input is sorted by shard and first time; the
/// output has the rows of each shard in time order.
pub(crate) struct Sorter(Merger);

impl Sorter {
    /// Creates a sorter for any number of shards, one after the other.
    pub(crate) fn new(query: &Arc<Query>) -> Result<Self> {
        Ok(Self(Merger::new(query)?))
    }

    /// Makes this stop when interrupted.
    pub(crate) fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self(self.0.with_interrupt(interrupt))
    }

    /// Adds packed rows. Returns rows, with their shard, that no later row can precede.
    pub(crate) fn push(&mut self, packed: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
        let mut sorted = Vec::new();
        self.0
            .merge(packed, &mut |shard, rows| sorted.push((shard, rows)))?;
        Ok(sorted)
    }

    /// Returns all remaining rows.
    pub(crate) fn finish(&mut self) -> Result<Vec<(i32, RecordBatch)>> {
        let mut sorted = Vec::new();
        self.0
            .close_last(&mut |shard, rows| sorted.push((shard, rows)))?;
        Ok(sorted)
    }
}
