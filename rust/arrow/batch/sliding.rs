//! The work of a sliding query: rows are held, moved as they are, sorted and swept.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows, in_halves};
use crate::aggregate::SeqNo;
use crate::aggregate::column::Column;
use crate::arrow::array::convert;
use crate::arrow::array::named::unnamed;
use crate::arrow::format::block::BlockKind;
use crate::arrow::keys::{KeyInterner, shard};
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::sliding::batch::RowBuffer;
use crate::sliding::plan::{Ends, Sliding};
use crate::sort::Sorted;
use crate::time::Time;

/// Rows in the windows of one batch of results, about, where a list of a window holds them all.
const GATHERED_ROWS: usize = 1 << 24;

/// A sliding query at work.
pub struct BatchSliding {
    query: Arc<Query>,
    sliding: Sliding,
    keys: KeyInterner,
    records: RowBuffer,
    /// Windows that end before this have left.
    planned: Time,
}

impl BatchSliding {
    /// No rows yet.
    pub fn new(query: Arc<Query>, sliding: Sliding) -> Result<Self> {
        let records = RowBuffer::new(empty(&query)?);
        Ok(Self {
            keys: KeyInterner::new(&query.keys)?,
            sliding,
            records,
            planned: Time::MIN,
            query,
        })
    }

    fn push(
        &mut self,
        keys: &[ArrayRef],
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[Column<'_>],
    ) -> Result<()> {
        let mut ids = Vec::with_capacity(times.len());
        self.keys.intern(keys, &mut ids)?;
        if ids.contains(&KeyId::NULL) {
            return Err(Error::Internal("rows have a key"));
        }
        self.records
            .push(self.sliding, &ids, times, seq_nos, inputs)
            .map_err(|beyond| self.query.beyond(beyond.0))?
    }
}

/// The query's inputs without rows.
fn empty(query: &Query) -> Result<Vec<Column<'static>>> {
    let arrays = query
        .inputs
        .iter()
        .map(|taken| convert::canonical(&arrow_array::new_empty_array(taken.field.data_type())));
    arrays
        .map(|array| Ok(convert::view(&array?)?.gather(&[])))
        .collect()
}

impl BatchOperator for BatchSliding {
    fn add(&mut self, input: Records) -> Result<()> {
        self.push(
            &input.keys,
            input.times(),
            input.seq_nos(),
            &input.inputs()?,
        )
    }

    fn process(&mut self, _most: usize, _interrupt: &Interrupt) -> Result<()> {
        Ok(())
    }

    fn add_block(&mut self, _form: BlockKind, block: &RecordBatch) -> Result<()> {
        let wrong = || Error::Format {
            what: "block",
            reason: format!("unexpected columns {:?}", block.schema().fields()),
        };
        let (keys, rest) = block
            .columns()
            .split_at_checked(self.query.keys.len())
            .ok_or_else(wrong)?;
        let [times, seq_nos, inputs @ ..] = rest else {
            return Err(wrong());
        };
        let times = times.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        let seq_nos = seq_nos.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        let seq_nos: Vec<SeqNo> = seq_nos
            .values()
            .iter()
            .map(|seq_no| seq_no.cast_unsigned())
            .collect();
        if inputs.len() != self.query.inputs.len() {
            return Err(wrong());
        }
        let inputs = inputs
            .iter()
            .map(convert::view)
            .collect::<Result<Vec<_>>>()?;
        self.push(keys, Time::slice(times.values()), &seq_nos, &inputs)
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        let records = std::mem::replace(&mut self.records, RowBuffer::new(empty(&self.query)?));
        let hashes = self.keys.hashes();
        let shard_of = |key: &KeyId| {
            hashes
                .get(key.0 as usize)
                .map_or(0, |&hash| shard(hash, self.query.shards))
        };
        let shards: Vec<KeyId> = records
            .keys()
            .iter()
            .map(|key| KeyId(shard_of(key)))
            .collect();
        let sorted: Vec<u32> = Sorted::new(&shards, records.times(), interrupt)?
            .rows()
            .collect();

        let picked = |values: &[i64]| {
            sorted
                .iter()
                .filter_map(|&row| values.get(row as usize).copied())
                .collect::<Vec<i64>>()
        };
        let times = picked(Time::ticks(records.times()));
        let keys: Vec<KeyId> = sorted
            .iter()
            .filter_map(|&row| records.keys().get(row as usize).copied())
            .collect();
        let mut columns = self.keys.columns(&keys)?;
        columns.push(Arc::new(Int64Array::from(times.clone())));
        columns.push(Arc::new(Int64Array::from(picked(bytemuck::cast_slice(
            records.seq_nos(),
        )))));
        for input in records.inputs() {
            columns.push(convert::array(input.gather(&sorted))?);
        }
        let shards = sorted
            .iter()
            .filter_map(|&row| shards.get(row as usize).map(|shard| shard.0))
            .collect();
        Ok(vec![ShardRows {
            form: BlockKind::Records,
            rows: unnamed(columns)?,
            shards,
            times: Time::slice(&times).to_vec(),
        }])
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.records.sort(interrupt)?;
        let states = self.query.accumulators();
        let inputs = self.query.taken(self.records.inputs());
        let until = frontier.map(|time| time.floor(self.sliding.resolution).unwrap_or(Time::MIN));
        for planned in self.records.plan(
            self.sliding,
            Ends {
                from: self.planned,
                until,
            },
        ) {
            let planned = planned.map_err(|beyond| self.query.beyond(beyond.0))?;
            // A sweep begins with all rows of its first window: it pays for as many windows as that
            // has rows.
            let (windows, rows) = if states.gathers() {
                (RESULT_ROWS, GATHERED_ROWS)
            } else {
                (RESULT_ROWS.max(planned.widest()), usize::MAX)
            };
            let mut result = |piece: Range<usize>| {
                let runs = planned.runs.get(piece.clone()).unwrap_or_default();
                let lowered =
                    states.sweep(self.records.times(), self.records.seq_nos(), &inputs, runs)?;
                let keys = self
                    .keys
                    .columns(planned.keys.get(piece.clone()).unwrap_or_default())?;
                self.query.result(
                    keys,
                    planned.windows.get(piece).unwrap_or_default(),
                    lowered,
                )
            };
            planned
                .pieces(windows, rows)
                .try_for_each(|piece| in_halves(piece, &mut result, emit, interrupt))?;
        }
        match until {
            Some(until) => {
                self.planned = until;
                self.records
                    .release(self.sliding.horizon(until), interrupt)?;
            }
            None => {
                self.planned = Time::MIN;
                self.records = RowBuffer::new(empty(&self.query)?);
            }
        }
        let columns = self.keys.columns(self.records.keys())?;
        self.keys.clear();
        let mut keys = Vec::with_capacity(self.records.len());
        self.keys.intern(&columns, &mut keys)?;
        self.records.renumber(keys);
        Ok(())
    }

    fn held(&self) -> usize {
        self.records.len()
    }

    fn keys(&mut self) -> &mut KeyInterner {
        &mut self.keys
    }
}
