//! What every query does with rows and blocks.

use arrow_array::RecordBatch;

use super::list_room::{ListRoom, ListSizes};
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::input::records::Records;
use crate::keys::KeyInterner;

/// Rows in a batch of results, about.
pub(crate) const RESULT_ROWS: usize = 1 << 16;

/// Where results go.
pub(crate) type BatchSink<'a> = dyn FnMut(RecordBatch) + 'a;

/// Where results go, with their shard.
pub(super) type ShardSink<'a> = dyn FnMut(i32, RecordBatch) + 'a;

/// A query at work on rows or blocks.
pub(crate) trait BatchOperator: Send {
    /// Adds rows.
    fn add(&mut self, input: Records) -> Result<()>;
    /// Works on the rows that wait as soon as that pays, and at the latest when about `most` wait.
    fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()>;
    /// Buffers rows that leave as blocks, `most` of them at once. Those of few records a window are
    /// lighter as they are.
    fn buffer(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        self.process(most, interrupt)
    }
    /// Adds the rows of a block.
    fn add_block(&mut self, kind: BlockKind, block: &RecordBatch) -> Result<()>;
    /// Takes all rows out, for blocks; nothing remains but the keys.
    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>>;
    /// Emits the windows that nothing at or after `frontier` can change, all of them without one,
    /// and drops what only they need.
    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()>;
    /// The lists of all windows that are still to come, where they overlap.
    fn list_sizes(&mut self, _interrupt: &Interrupt) -> Result<ListSizes> {
        Ok(ListSizes::default())
    }
    /// Number of rows and partial sessions.
    fn rows(&self) -> usize;
    /// The keys that have numbers.
    fn keys(&mut self) -> &mut KeyInterner;
}

/// Rows for blocks, sorted by shard and time.
pub(crate) struct ShardRows {
    /// What a row is.
    pub kind: BlockKind,
    /// In the layout of blocks of this kind.
    pub rows: RecordBatch,
    /// The shard of each row.
    pub shards: Vec<u32>,
    /// The time of each row.
    pub times: Vec<Time>,
}

/// All windows of operators that have all their rows, as soon as there is room for all their lists.
pub(super) fn close_all(
    mut operators: Vec<Box<dyn BatchOperator>>,
    room: &ListRoom,
    interrupt: &Interrupt,
) -> Result<Vec<RecordBatch>> {
    if room.is_bounded() {
        for operator in &mut operators {
            room.ask(operator.list_sizes(interrupt)?)?;
        }
    }
    let mut windows = Vec::new();
    for mut operator in operators {
        operator.close(None, &mut |batch| windows.push(batch), interrupt)?;
        interrupt.part_is_done();
    }
    Ok(windows)
}
