//! The trait of all batch operators.

use arrow_array::RecordBatch;

use super::list_room::ListSizes;
use super::shards::SortedByShard;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::input::records::Records;
use crate::keys::KeyInterner;

/// Approximate rows in a result batch.
pub(crate) const RESULT_ROWS: usize = 1 << 16;

/// Receives results.
pub(crate) type BatchSink<'a> = dyn FnMut(RecordBatch) + 'a;

/// Runs a query on rows or blocks.
pub(crate) trait BatchOperator: Send {
    /// Adds rows.
    fn add(&mut self, input: Records) -> Result<()>;
    /// Processes the waiting rows once that pays off, at the latest when about `most` rows wait.
    fn process(&mut self, _most: usize, _interrupt: &Interrupt) -> Result<()> {
        Ok(())
    }
    /// Buffers rows that will leave as blocks, `most` at a time. If windows have few records,
    /// records are smaller than windows.
    fn buffer(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        self.process(most, interrupt)
    }
    /// Adds the rows of a block.
    fn add_block(&mut self, kind: BlockKind, block: &RecordBatch) -> Result<()>;
    /// Takes all rows for blocks. Only the keys remain.
    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>>;
    /// Emits the windows that nothing at or after `frontier` can change, or all windows if there is
    /// no frontier. Drops everything that only these windows need.
    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()>;
    /// The size of the lists of all remaining windows, if windows overlap.
    fn list_sizes(&mut self, _interrupt: &Interrupt) -> Result<ListSizes> {
        Ok(ListSizes::default())
    }
    /// The number of rows and partial sessions.
    fn rows(&self) -> usize;
    /// The numbered keys, if it numbers keys.
    fn keys(&mut self) -> Option<&mut KeyInterner> {
        None
    }
}

/// Rows for blocks, sorted by shard and time.
pub(crate) struct ShardRows {
    /// The kind of each row.
    pub kind: BlockKind,
    /// The rows, in the block layout of this kind.
    pub rows: RecordBatch,
    /// The shard of each row.
    pub shards: Vec<u32>,
    /// The time of each row.
    pub times: Vec<Time>,
}

impl ShardRows {
    /// Rows of a kind, in the order of `sorted`.
    pub(super) fn new(kind: BlockKind, rows: RecordBatch, sorted: SortedByShard) -> Self {
        let SortedByShard { shards, times, .. } = sorted;
        Self {
            kind,
            rows,
            shards,
            times,
        }
    }
}
