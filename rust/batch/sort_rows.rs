//! A query that returns rows in time order. It stores and moves rows unchanged.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_select::interleave::interleave_record_batch;

use super::batch_operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows};
use super::layout::whole_rows::WholeRows;
use super::shards::SortedByShard;
use crate::array::convert;
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::sort::{pick, sort_long};
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::input::records::Records;
use crate::keys::shard;
use crate::keys::shard_hash::ShardHash;
use crate::plan::query::Query;

/// The operator of such a query.
pub(super) struct SortRows {
    query: Arc<Query>,
    hash: ShardHash,
    layout: WholeRows,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

/// Locates a row: time, tie or arrival, then (batch, row in the batch).
type RowAddress = (Time, SeqNo, (usize, usize));

impl SortRows {
    /// Starts without rows.
    pub(super) fn new(query: Arc<Query>) -> Result<Self> {
        Ok(Self {
            hash: ShardHash::new(&query.keys)?,
            layout: WholeRows::new(&query),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            query,
        })
    }

    fn push(&mut self, rows: RecordBatch) -> Result<()> {
        for column in rows.columns() {
            self.bytes += column.to_data().get_slice_memory_size()?;
        }
        self.rows += rows.num_rows();
        self.batches.push(rows);
        Ok(())
    }

    fn clear(&mut self) {
        (self.batches, self.rows, self.bytes) = (Vec::new(), 0, 0);
    }

    /// All rows by time, then arrival.
    fn sorted(&self, interrupt: &Interrupt) -> Result<Vec<RowAddress>> {
        let mut addresses = Vec::with_capacity(self.rows);
        for (number, batch) in self.batches.iter().enumerate() {
            interrupt.check()?;
            let times = self.times_of(batch)?;
            let times = times.as_primitive::<Int64Type>();
            // Excluded rows may lack a time. They come first.
            let times = times.iter().map(|time| time.map_or(Time::MIN, Time));
            let rows = times.zip(self.layout.seq_nos(batch)?).enumerate();
            let address = |(row, (time, &seq_no)): (usize, (Time, &i64))| {
                (time, seq_no.cast_unsigned(), (number, row))
            };
            addresses.extend(rows.map(address));
        }
        if !addresses.is_sorted() {
            // A stable sort merges existing runs: each batch in time order is one.
            let rank = |&(time, ..): &RowAddress| time.rank();
            sort_long(&mut addresses, rank, <[_]>::sort, interrupt)?;
        }
        Ok(addresses)
    }

    /// Copies the rows at these (batch, row) addresses.
    fn gather(&self, addresses: &[(usize, usize)]) -> Result<RecordBatch> {
        if self.batches.is_empty() {
            return Ok(self.layout.empty());
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        Ok(interleave_record_batch(&batches, addresses)?)
    }

    /// The shard of each row.
    fn shards(&self) -> Result<Vec<u32>> {
        let mut all = Vec::with_capacity(self.rows);
        for batch in &self.batches {
            let fields = self.query.keys.iter();
            let keys: Vec<ArrayRef> = fields
                .filter_map(|field| batch.column_by_name(field.name()).cloned())
                .collect();
            let shards = self.query.shards;
            let hashes = (0..).zip(self.hash.hashes(&keys)?);
            all.extend(hashes.map(|(row, hash)| match hash {
                Some(hash) => shard(hash, shards),
                None => row % shards, // excluded rows without a key can go to any shard
            }));
        }
        Ok(all)
    }

    /// The time of each row. Excluded rows may lack a time; they get the earliest one.
    fn times(&self) -> Result<Vec<Time>> {
        let mut times = Vec::with_capacity(self.rows);
        for batch in &self.batches {
            times.extend(self.times_of(batch)?.as_primitive::<Int64Type>());
        }
        let first = times.iter().flatten().min().copied().unwrap_or_default();
        Ok(times
            .into_iter()
            .map(|time| Time(time.unwrap_or(first)))
            .collect())
    }

    fn times_of(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let time = batch.column_by_name(self.query.time.name());
        convert::canonical(time.ok_or(Error::Internal("a row has no time"))?)
    }
}

impl BatchOperator for SortRows {
    fn add(&mut self, input: Records) -> Result<()> {
        let seq_nos = input.seq_nos().to_vec();
        self.push(self.layout.join(input.output, &seq_nos)?)
    }

    fn add_block(&mut self, _kind: BlockKind, block: &RecordBatch) -> Result<()> {
        self.push(self.layout.read(block)?)
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        // The rows are still in order of arrival here.
        let shards = self.shards()?;
        let sorted = SortedByShard::new(&shards, &self.times()?, interrupt)?;
        let mut addresses = Vec::with_capacity(self.rows);
        for (number, batch) in self.batches.iter().enumerate() {
            addresses.extend((0..batch.num_rows()).map(|row| (number, row)));
        }
        let rows = self
            .layout
            .write(&self.gather(&pick(&addresses, &sorted.rows)?)?)?;
        self.clear();
        Ok(vec![ShardRows::new(BlockKind::Records, rows, sorted)])
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let sorted = self.sorted(interrupt)?;
        // Rows at the frontier wait, because earlier arrivals with the same time may still come.
        let complete = frontier.map_or(sorted.len(), |frontier| {
            sorted.partition_point(|&(time, ..)| time < frontier)
        });
        let addresses: Vec<_> = sorted.iter().map(|&(_, _, address)| address).collect();
        let (leaving, staying) = addresses
            .split_at_checked(complete)
            .ok_or(Error::Internal("more rows leave than there are"))?;
        let width = self.bytes / self.rows.max(1);
        let most = (self.query.limits.merge_bytes / width.max(1)).clamp(1, RESULT_ROWS);
        let output = &self.query.output;
        for rows in leaving.chunks(most) {
            interrupt.check()?;
            let rows = self.gather(rows)?;
            let columns = rows.columns().iter().take(output.fields().len());
            let columns = columns.cloned().collect();
            emit(RecordBatch::try_new(Arc::clone(output), columns)?);
        }
        let staying = staying.chunks(most).map(|rows| self.gather(rows));
        let staying = staying.collect::<Result<Vec<_>>>()?;
        self.clear();
        staying.into_iter().try_for_each(|rows| self.push(rows))
    }

    fn rows(&self) -> usize {
        self.rows
    }
}
