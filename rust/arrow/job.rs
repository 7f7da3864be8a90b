//! What every query does with rows and blocks, and the two ways through Spark.
//!
//! ```text
//!   rows ─▶ Packer ─▶ packed rows ─▶ (shuffle, sort by shard and first) ─▶ Merger ─▶ windows
//!   rows ─▶ run (see super::run) ────────────────────────────────────────────────▶ windows
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::block::{self, Form};
use super::input::{Counters, Input};
use super::keys::Keys;
use super::kind::Kind;
use super::pack;
use super::query::Query;
use super::rows::RowsJob;
use super::session::SessionJob;
use super::sliding::SlidingJob;
use crate::aggregate::Arrival;
use crate::aggregate::slot::Slot;
use crate::error::{Error, Result};
use crate::time::Time;

/// Rows in a batch of results, about.
pub const RESULT_ROWS: usize = 1 << 16;
/// Arrivals of one split are numbered within this many bits, the split above them.
const ARRIVAL_BITS: u32 = 40;

/// Where results go.
pub type Emit<'a> = dyn FnMut(RecordBatch) + 'a;

/// Where results go, with their shard.
pub(super) type EmitOf<'a> = dyn FnMut(i32, RecordBatch) + 'a;

/// A query at work on rows or blocks.
pub(super) trait Job: Send {
    /// Takes rows in.
    fn add(&mut self, input: Input) -> Result<()>;
    /// Works off what waits, as soon as that pays and at the latest when about `most` rows wait.
    fn settle(&mut self, most: usize) -> Result<()>;
    /// Takes a block in.
    fn add_block(&mut self, form: Form, block: &RecordBatch) -> Result<()>;
    /// Hands out all there is, for blocks; nothing remains but the keys.
    fn take(&mut self) -> Result<Vec<Partials>>;
    /// Lets windows leave: those that nothing at or after `frontier` can touch; all without one.
    fn close(&mut self, frontier: Option<Time>, emit: &mut Emit<'_>) -> Result<()>;
    /// Rows or partial sessions held.
    fn held(&self) -> usize;
    /// The keys.
    fn keys(&mut self) -> &mut Keys;
}

/// The columns of blocks, sorted by shard and time.
pub(super) struct Partials {
    /// What the rows are.
    pub form: Form,
    /// Keys, times, and states or values.
    pub rows: RecordBatch,
    /// The shard of each row.
    pub shards: Vec<u32>,
    /// The time of each row.
    pub times: Vec<Time>,
}

/// All slots below a number.
pub(super) fn slots(count: usize) -> Vec<Slot> {
    (0..count as u32).map(Slot).collect()
}

/// Emits the windows of a range, in halves where they do not fit one batch.
pub(super) fn in_halves(
    range: Range<usize>,
    result: &mut impl FnMut(Range<usize>) -> Result<RecordBatch>,
    emit: &mut Emit<'_>,
) -> Result<()> {
    match result(range.clone()) {
        Err(Error::Crowded { .. }) if range.len() > 1 => {
            let middle = range.start + range.len() / 2;
            in_halves(range.start..middle, result, emit)?;
            in_halves(middle..range.end, result, emit)
        }
        result => {
            emit(result?);
            Ok(())
        }
    }
}

/// The windows of jobs that have all their rows.
pub(super) fn closed(jobs: impl IntoIterator<Item = Box<dyn Job>>) -> Result<Vec<RecordBatch>> {
    let mut windows = Vec::new();
    jobs.into_iter().try_for_each(|mut job| job.close(None, &mut |batch| windows.push(batch)))?;
    Ok(windows)
}

impl Query {
    pub(super) fn job(self: &Arc<Self>) -> Result<Box<dyn Job>> {
        Ok(match self.windows {
            _ if self.rows => Box::new(RowsJob::new(Arc::clone(self))?),
            Kind::Session(gap) => Box::new(SessionJob::new(Arc::clone(self), gap)?),
            Kind::Sliding(sliding) => Box::new(SlidingJob::new(Arc::clone(self), sliding)?),
        })
    }
}

/// Rows of one split to packed rows.
pub struct Packer {
    query: Arc<Query>,
    job: Box<dyn Job>,
    counters: Counters,
    split: Arrival,
    rows: usize,
    bytes: usize,
}

impl Packer {
    /// A packer for one split of the input.
    pub fn new(query: Arc<Query>, split: u32) -> Result<Self> {
        let (split, counters) = (Arrival::from(split) << ARRIVAL_BITS, Counters::default());
        Ok(Self { job: query.job()?, query, counters, split, rows: 0, bytes: 0 })
    }

    /// Takes rows in; gives packed rows when enough have come together.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let arrival = self.split + self.counters.records;
        let input = Input::read(&self.query, batch, arrival, &mut self.counters)?;
        self.rows += input.rows();
        self.bytes += batch.get_array_memory_size();
        self.job.add(input)?;
        if self.rows < self.query.limits.pack_rows && self.bytes < self.query.limits.pack_bytes {
            self.job.settle(self.query.limits.pack_rows)?;
            return Ok(Vec::new());
        }
        self.finish()
    }

    /// Packs what there is.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        (self.rows, self.bytes) = (0, 0);
        let mut packed = Vec::new();
        for Partials { form, rows, shards, times } in self.job.take()? {
            packed.extend(pack::pack(form, &rows, &shards, &times, self.query.limits.block_bytes)?);
        }
        if self.job.keys().len() > self.query.limits.pack_keys {
            self.job.keys().clear();
        }
        Ok(packed)
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

/// Packed rows, sorted by shard and first time, to windows.
pub struct Merger {
    job: Box<dyn Job>,
    merge_bytes: usize,
    last: Option<(i32, Time)>,
    bytes: usize,
    kept: usize,
}

impl Merger {
    /// A merger for any number of shards, one after the other.
    pub fn new(query: &Arc<Query>) -> Result<Self> {
        Ok(Self { job: query.job()?, merge_bytes: query.limits.merge_bytes, last: None, bytes: 0, kept: 0 })
    }

    /// Takes packed rows in; gives the windows that are final.
    pub fn push(&mut self, packed: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut results = Vec::new();
        self.walk(packed, &mut |_, windows| results.push(windows))?;
        Ok(results)
    }

    /// Gives all windows that remain.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut results = Vec::new();
        self.end(&mut |_, windows| results.push(windows))?;
        Ok(results)
    }

    /// Takes packed rows in; what leaves goes to `emit` with its shard.
    pub(super) fn walk(&mut self, packed: &RecordBatch, emit: &mut EmitOf<'_>) -> Result<()> {
        for row in pack::unpack(packed)? {
            let place = (row.shard, row.first);
            if self.last.is_some_and(|last| place < last) {
                let reason = format!("shard {}, first {} comes out of order: sort them by shard and first", row.shard, row.first.0);
                return Err(Error::Format { what: "packed rows", reason });
            }
            match self.last.replace(place) {
                Some((shard, _)) if shard != row.shard => self.close(shard, None, emit)?,
                _ if self.bytes >= self.merge_bytes.max(2 * self.kept) => self.close(row.shard, Some(row.first), emit)?,
                _ => {}
            }
            let (form, block) = block::decode(row.block)?;
            self.job.add_block(form, &block)?;
            self.bytes += row.block.len();
        }
        Ok(())
    }

    /// All that remains leaves.
    pub(super) fn end(&mut self, emit: &mut EmitOf<'_>) -> Result<()> {
        match self.last.take() {
            Some((shard, _)) => self.close(shard, None, emit),
            None => Ok(()),
        }
    }

    fn close(&mut self, shard: i32, frontier: Option<Time>, emit: &mut EmitOf<'_>) -> Result<()> {
        let before = self.job.held();
        self.job.close(frontier, &mut |batch| emit(shard, batch))?;
        // What stays is taken to be as wide as what there was.
        self.kept = (self.bytes as u128 * self.job.held() as u128 / before.max(1) as u128) as usize;
        self.bytes = self.kept;
        Ok(())
    }
}
