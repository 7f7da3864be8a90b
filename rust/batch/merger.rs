//! The second step of a query on Spark: merges packed rows into windows, or sorts them by time. The
//! [`Packer`](super::packer::Packer) is the first step.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::batch_operator::BatchOperator;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::time::Time;
use crate::format::{block, packed};
use crate::plan::query::Query;

/// Merges packed rows, sorted by shard and first time, into windows; of a query for rows, into the
/// rows of each shard in time order.
pub struct Merger {
    operator: Box<dyn BatchOperator>,
    merge_bytes: usize,
    /// The shard and first time of the last packed row.
    last: Option<(i32, Time)>,
    /// Approximate bytes of the blocks in the operator.
    bytes: usize,
    /// The value of `bytes` after the last close.
    kept: usize,
    interrupt: Interrupt,
}

impl Merger {
    /// Creates a merger for any number of shards, one after the other.
    ///
    /// # Errors
    ///
    /// A key column has a type that cannot be grouped.
    pub fn new(query: &Arc<Query>) -> Result<Self> {
        Ok(Self {
            operator: query.batch_operator()?,
            merge_bytes: query.limits.merge_bytes,
            last: None,
            bytes: 0,
            kept: 0,
            interrupt: Interrupt::never(),
        })
    }

    /// Makes this stop when interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Merges packed rows and returns the windows that are final, with their shard. A query for rows
    /// returns the rows that no later row can precede.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] if rows are out of order or blocks belong to another query. A result that
    /// does not fit its type. The errors of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch) -> Result<Vec<(i32, RecordBatch)>> {
        let mut results = Vec::new();
        for row in packed::unpack(packed)? {
            let position = (row.shard, row.first);
            if self.last.is_some_and(|last| position < last) {
                let reason = format!(
                    "shard {}, first {} comes out of order: sort them by shard and first",
                    row.shard, row.first.0
                );
                return Err(Error::Format {
                    what: "packed rows",
                    reason,
                });
            }
            match self.last.replace(position) {
                Some((shard, _)) if shard != row.shard => self.close(shard, None, &mut results)?,
                _ if self.bytes >= self.merge_bytes.max(2 * self.kept) => {
                    self.close(row.shard, Some(row.first), &mut results)?
                }
                _ => {}
            }
            self.interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            self.operator.add_block(kind, &block)?;
            self.bytes += row.block.len();
        }
        Ok(results)
    }

    /// Returns all remaining windows, or rows, with their shard.
    ///
    /// # Errors
    ///
    /// A result that does not fit its type. The errors of the interrupt.
    pub fn finish(&mut self) -> Result<Vec<(i32, RecordBatch)>> {
        let mut results = Vec::new();
        if let Some((shard, _)) = self.last.take() {
            self.close(shard, None, &mut results)?;
        }
        Ok(results)
    }

    fn close(
        &mut self,
        shard: i32,
        frontier: Option<Time>,
        results: &mut Vec<(i32, RecordBatch)>,
    ) -> Result<()> {
        let before = self.operator.rows();
        let mut emit = |batch| results.push((shard, batch));
        self.operator.close(frontier, &mut emit, &self.interrupt)?;
        // This estimate assumes that the remaining rows have average width.
        self.kept =
            (self.bytes as u128 * self.operator.rows() as u128 / before.max(1) as u128) as usize;
        self.bytes = self.kept;
        Ok(())
    }
}
