//! Packed rows of a query for rows to the rows of each shard in the order of time.
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

/// Packed rows of a query for rows, sorted by shard and first time, to the rows of each shard in
/// the order of time.
pub struct Sorter(Merger);

impl Sorter {
    /// A sorter for any number of shards, one after the other.
    ///
    /// # Errors
    ///
    /// Key columns of a type that cannot be one.
    pub fn new(query: &Arc<Query>) -> Result<Self> {
        Ok(Self(Merger::new(query)?))
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self(self.0.with_interrupt(interrupt))
    }

    /// Merges packed rows; gives rows, with their shard, that no later one comes before.
    ///
    /// # Errors
    ///
    /// [`Error::Format`](crate::core::error::Error::Format) for packed rows out of order, or blocks of
    /// another query; those of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
        let mut sorted = Vec::new();
        self.0
            .merge(packed, &mut |shard, rows| sorted.push((shard, rows)))?;
        Ok(sorted)
    }

    /// Gives all rows that remain.
    ///
    /// # Errors
    ///
    /// Those of the interrupt.
    pub fn finish(&mut self) -> Result<Vec<(i32, RecordBatch)>> {
        let mut sorted = Vec::new();
        self.0
            .close_last(&mut |shard, rows| sorted.push((shard, rows)))?;
        Ok(sorted)
    }
}
