//! The work of a query for rows: they are held, moved as they are, and leave in the order of time.
//!
//! Rows travel in the columns of the query's input, whatever these hold; behind them the arrival of
//! each row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;

use super::operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows};
use crate::arrow::array::convert;
use crate::arrow::array::named::unnamed;
use crate::arrow::format::block::BlockKind;
use crate::arrow::keys::{KeyInterner, shard};
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::sort::sort_long;
use crate::time::Time;

/// A query for rows at work.
pub struct SortRows {
    query: Arc<Query>,
    keys: KeyInterner,
    /// The columns of the input, and the arrival.
    schema: SchemaRef,
    held: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

/// Where a held row stands: its time and arrival, then its batch and its row in there.
type RowAddress = (Time, i64, (usize, usize));

impl SortRows {
    /// No rows yet.
    pub fn new(query: Arc<Query>) -> Result<Self> {
        let seq_no = Arc::new(Field::new("arrival", DataType::Int64, false));
        let fields: Vec<_> = query
            .output
            .fields()
            .iter()
            .cloned()
            .chain([seq_no])
            .collect();
        Ok(Self {
            keys: KeyInterner::new(&query.keys)?,
            schema: Arc::new(Schema::new(fields)),
            held: Vec::new(),
            rows: 0,
            bytes: 0,
            query,
        })
    }

    fn hold(&mut self, rows: RecordBatch) -> Result<()> {
        for column in rows.columns() {
            self.bytes += column.to_data().get_slice_memory_size()?;
        }
        self.rows += rows.num_rows();
        self.held.push(rows);
        Ok(())
    }

    /// All rows, by time and arrival.
    fn places(&self, interrupt: &Interrupt) -> Result<Vec<RowAddress>> {
        let mut places = Vec::with_capacity(self.rows);
        for (number, batch) in self.held.iter().enumerate() {
            interrupt.check()?;
            let wrong = || Error::Internal("rows have a time and an arrival");
            let times = convert::canonical(
                batch
                    .column_by_name(self.query.time.name())
                    .ok_or_else(wrong)?,
            )?;
            let seq_nos = batch
                .columns()
                .last()
                .and_then(|array| array.as_primitive_opt::<Int64Type>())
                .ok_or_else(wrong)?;
            let stands = Time::slice(times.as_primitive::<Int64Type>().values())
                .iter()
                .zip(seq_nos.values());
            places.extend(
                stands
                    .enumerate()
                    .map(|(row, (&time, &seq_no))| (time, seq_no, (number, row))),
            );
        }
        if !places.is_sorted() {
            // Batches in order of time are runs to this sort.
            sort_long(
                &mut places,
                |(time, ..)| time.rank(),
                <[_]>::sort,
                interrupt,
            )?;
        }
        Ok(places)
    }

    /// The rows at some places, in their order.
    fn gather(&self, places: &[RowAddress]) -> Result<RecordBatch> {
        if self.held.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let places: Vec<(usize, usize)> = places.iter().map(|&(_, _, place)| place).collect();
        Ok(interleave_record_batch(
            &self.held.iter().collect::<Vec<_>>(),
            &places,
        )?)
    }

    /// The shard of each row of each batch.
    fn shards(&mut self) -> Result<Vec<Vec<u32>>> {
        let mut shards = Vec::with_capacity(self.held.len());
        for batch in &self.held {
            let keys: Vec<ArrayRef> = self
                .query
                .keys
                .iter()
                .filter_map(|field| batch.column_by_name(field.name()).cloned())
                .collect();
            let mut ids = Vec::with_capacity(batch.num_rows());
            self.keys.intern(&keys, &mut ids)?;
            let hashes = self.keys.hashes();
            let shard_of = |hash: &u64| shard(*hash, self.query.shards);
            shards.push(
                ids.iter()
                    .map(|key| hashes.get(key.0 as usize).map_or(0, shard_of))
                    .collect(),
            );
        }
        Ok(shards)
    }
}

impl BatchOperator for SortRows {
    fn add(&mut self, input: Records) -> Result<()> {
        let seq_nos = input.seq_nos().iter().map(|seq_no| seq_no.cast_signed());
        let seq_nos: ArrayRef = Arc::new(Int64Array::from_iter_values(seq_nos));
        let columns = input.whole.into_iter().chain([seq_nos]).collect();
        self.hold(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn process(&mut self, _most: usize, _interrupt: &Interrupt) -> Result<()> {
        Ok(())
    }

    fn add_block(&mut self, _form: BlockKind, block: &RecordBatch) -> Result<()> {
        let wrong = |_| Error::Format {
            what: "block",
            reason: format!("unexpected columns {:?}", block.schema().fields()),
        };
        self.hold(
            RecordBatch::try_new(Arc::clone(&self.schema), block.columns().to_vec())
                .map_err(wrong)?,
        )
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        let shards = self.shards()?;
        let shard_of = |&(_, _, (batch, row)): &RowAddress| {
            shards
                .get(batch)
                .and_then(|rows| rows.get(row))
                .copied()
                .unwrap_or_default()
        };
        let mut places = self.places(interrupt)?;
        places.sort_by_key(shard_of);
        let rows = unnamed(self.gather(&places)?.columns().to_vec())?;
        (self.held, self.rows, self.bytes) = (Vec::new(), 0, 0);
        let (shards, times) = (
            places.iter().map(shard_of).collect(),
            places.iter().map(|place| place.0).collect(),
        );
        Ok(vec![ShardRows {
            form: BlockKind::Records,
            rows,
            shards,
            times,
        }])
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let places = self.places(interrupt)?;
        // Rows at the frontier wait for those of the same time that arrived before them.
        let complete = frontier.map_or(places.len(), |frontier| {
            places.partition_point(|place| place.0 < frontier)
        });
        let (leaving, staying) = places
            .split_at_checked(complete)
            .ok_or(Error::Internal("a part of the rows leaves"))?;
        let width = self.bytes / self.rows.max(1);
        let most = (self.query.limits.merge_bytes / width.max(1)).clamp(1, RESULT_ROWS);
        for places in leaving.chunks(most) {
            interrupt.check()?;
            let columns = self
                .gather(places)?
                .columns()
                .iter()
                .take(self.query.output.fields().len())
                .cloned()
                .collect();
            emit(RecordBatch::try_new(
                Arc::clone(&self.query.output),
                columns,
            )?);
        }
        let staying = staying
            .chunks(most)
            .map(|places| self.gather(places))
            .collect::<Result<Vec<_>>>()?;
        (self.held, self.rows, self.bytes) = (Vec::new(), 0, 0);
        staying.into_iter().try_for_each(|rows| self.hold(rows))
    }

    fn held(&self) -> usize {
        self.rows
    }

    fn keys(&mut self) -> &mut KeyInterner {
        &mut self.keys
    }
}
