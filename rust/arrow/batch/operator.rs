//! What every query does with rows and blocks.

use std::ops::Range;

use arrow_array::RecordBatch;

use crate::arrow::format::block::BlockKind;
use crate::arrow::keys::KeyInterner;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::time::Time;

/// Rows in a batch of results, about.
pub const RESULT_ROWS: usize = 1 << 16;

/// Where results go.
pub type BatchSink<'a> = dyn FnMut(RecordBatch) + 'a;

/// Where results go, with their shard.
pub(crate) type ShardSink<'a> = dyn FnMut(i32, RecordBatch) + 'a;

/// A query at work on rows or blocks.
pub(crate) trait BatchOperator: Send {
    /// Takes rows in.
    fn add(&mut self, input: Records) -> Result<()>;
    /// Works off what waits, as soon as that pays and at the latest when about `most` rows wait.
    fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()>;
    /// Takes a block in.
    fn add_block(&mut self, form: BlockKind, block: &RecordBatch) -> Result<()>;
    /// Hands out all there is, for blocks; nothing remains but the keys.
    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>>;
    /// Lets windows leave: those that nothing at or after `frontier` can touch; all without one.
    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()>;
    /// Rows or partial sessions held.
    fn held(&self) -> usize;
    /// The keys.
    fn keys(&mut self) -> &mut KeyInterner;
}

/// The columns of blocks, sorted by shard and time.
pub(crate) struct ShardRows {
    /// What the rows are.
    pub form: BlockKind,
    /// Keys, times, and states or values.
    pub rows: RecordBatch,
    /// The shard of each row.
    pub shards: Vec<u32>,
    /// The time of each row.
    pub times: Vec<Time>,
}

/// Emits the windows of a range, in halves where they do not fit one batch.
pub(crate) fn in_halves(
    range: Range<usize>,
    result: &mut impl FnMut(Range<usize>) -> Result<RecordBatch>,
    emit: &mut BatchSink<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    interrupt.check()?;
    match result(range.clone()) {
        Err(Error::Crowded { .. }) if range.len() > 1 => {
            let middle = range.start + range.len() / 2;
            in_halves(range.start..middle, result, emit, interrupt)?;
            in_halves(middle..range.end, result, emit, interrupt)
        }
        result => {
            emit(result?);
            Ok(())
        }
    }
}

/// The windows of jobs that have all their rows.
pub(crate) fn closed(
    jobs: impl IntoIterator<Item = Box<dyn BatchOperator>>,
    interrupt: &Interrupt,
) -> Result<Vec<RecordBatch>> {
    let mut windows = Vec::new();
    jobs.into_iter()
        .try_for_each(|mut job| job.close(None, &mut |batch| windows.push(batch), interrupt))?;
    Ok(windows)
}
