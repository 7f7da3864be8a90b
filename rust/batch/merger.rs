//! The second step of a query on Spark: packed rows to windows. The first is the
//! [`Packer`](super::packer::Packer).

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::batch_operator::{BatchOperator, ShardSink};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::time::Time;
use crate::format::{block, packed};
use crate::plan::query::Query;

/// Packed rows, sorted by shard and first time, to windows.
pub struct Merger {
    operator: Box<dyn BatchOperator>,
    merge_bytes: usize,
    /// The shard and first time of the last packed row.
    last: Option<(i32, Time)>,
    /// Bytes of blocks that the operator holds, about.
    bytes: usize,
    /// The same after the last close.
    kept: usize,
    interrupt: Interrupt,
}

impl Merger {
    /// A merger for any number of shards, one after the other.
    ///
    /// # Errors
    ///
    /// Key columns of a type that cannot be one.
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

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Merges packed rows; gives the windows that are final.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for rows out of order, or blocks of another query; a result that does not
    /// fit its type; those of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut results = Vec::new();
        self.merge(packed, &mut |_, windows| results.push(windows))?;
        Ok(results)
    }

    /// Gives all windows that remain.
    ///
    /// # Errors
    ///
    /// A result that does not fit its type; those of the interrupt.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut results = Vec::new();
        self.close_last(&mut |_, windows| results.push(windows))?;
        Ok(results)
    }

    /// Merges packed rows; what is final goes to `emit` with its shard.
    pub(super) fn merge(&mut self, packed: &RecordBatch, emit: &mut ShardSink<'_>) -> Result<()> {
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
                Some((shard, _)) if shard != row.shard => self.close(shard, None, emit)?,
                _ if self.bytes >= self.merge_bytes.max(2 * self.kept) => {
                    self.close(row.shard, Some(row.first), emit)?
                }
                _ => {}
            }
            self.interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            self.operator.add_block(kind, &block)?;
            self.bytes += row.block.len();
        }
        Ok(())
    }

    /// Emits all that remains.
    pub(super) fn close_last(&mut self, emit: &mut ShardSink<'_>) -> Result<()> {
        match self.last.take() {
            Some((shard, _)) => self.close(shard, None, emit),
            None => Ok(()),
        }
    }

    fn close(
        &mut self,
        shard: i32,
        frontier: Option<Time>,
        emit: &mut ShardSink<'_>,
    ) -> Result<()> {
        let before = self.operator.rows();
        self.operator
            .close(frontier, &mut |batch| emit(shard, batch), &self.interrupt)?;
        // The rows that stay are estimated to be as wide as all were.
        self.kept =
            (self.bytes as u128 * self.operator.rows() as u128 / before.max(1) as u128) as usize;
        self.bytes = self.kept;
        Ok(())
    }
}
