//! The work of a sliding query: rows are held, moved as they are, sorted and swept.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::operator::{Emit, Job, Partials, RESULT_ROWS, in_halves};
use super::sessions::unnamed;
use crate::aggregate::Arrival;
use crate::aggregate::column::Column;
use crate::arrow::array::convert;
use crate::arrow::format::block::Form;
use crate::arrow::keys::{Keys, shard};
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Input;
use crate::error::{Error, Result};
use crate::key::KeyId;
use crate::sliding::batch::Records;
use crate::sliding::plan::{Ends, Sliding};
use crate::sort::Sorted;
use crate::time::Time;

/// Rows in the windows of one batch of results, about, where a list of a window holds them all.
const GATHERED_ROWS: usize = 1 << 24;

/// A sliding query at work.
pub struct SlidingJob {
    query: Arc<Query>,
    sliding: Sliding,
    keys: Keys,
    records: Records,
    /// Windows that end before this have left.
    planned: Time,
}

impl SlidingJob {
    /// No rows yet.
    pub fn new(query: Arc<Query>, sliding: Sliding) -> Result<Self> {
        let records = Records::new(empty(&query)?);
        Ok(Self { keys: Keys::new(&query.keys)?, sliding, records, planned: Time::MIN, query })
    }

    fn push(&mut self, keys: &[ArrayRef], times: &[Time], arrivals: &[Arrival], inputs: &[Column<'_>]) -> Result<()> {
        let mut ids = Vec::with_capacity(times.len());
        self.keys.intern(keys, &mut ids)?;
        if ids.contains(&KeyId::NULL) {
            return Err(Error::Internal("rows have a key"));
        }
        self.records.push(self.sliding, &ids, times, arrivals, inputs).map_err(|beyond| self.query.beyond(beyond.0))?
    }
}

/// The query's inputs without rows.
fn empty(query: &Query) -> Result<Vec<Column<'static>>> {
    let arrays = query.inputs.iter().map(|taken| convert::canonical(&arrow_array::new_empty_array(taken.field.data_type())));
    arrays.map(|array| Ok(convert::view(&array?)?.gather(&[]))).collect()
}

impl Job for SlidingJob {
    fn add(&mut self, input: Input) -> Result<()> {
        self.push(&input.keys, input.times(), input.arrivals(), &input.inputs()?)
    }

    fn settle(&mut self, _most: usize) -> Result<()> {
        Ok(())
    }

    fn add_block(&mut self, _form: Form, block: &RecordBatch) -> Result<()> {
        let wrong = || Error::Format { what: "block", reason: format!("unexpected columns {:?}", block.schema().fields()) };
        let (keys, rest) = block.columns().split_at_checked(self.query.keys.len()).ok_or_else(wrong)?;
        let [times, arrivals, inputs @ ..] = rest else { return Err(wrong()) };
        let times = times.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        let arrivals = arrivals.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
        let arrivals: Vec<Arrival> = arrivals.values().iter().map(|arrival| arrival.cast_unsigned()).collect();
        if inputs.len() != self.query.inputs.len() {
            return Err(wrong());
        }
        let inputs = inputs.iter().map(convert::view).collect::<Result<Vec<_>>>()?;
        self.push(keys, Time::slice(times.values()), &arrivals, &inputs)
    }

    fn take(&mut self) -> Result<Vec<Partials>> {
        let records = std::mem::replace(&mut self.records, Records::new(empty(&self.query)?));
        let hashes = self.keys.hashes();
        let shard_of = |key: &KeyId| hashes.get(key.0 as usize).map_or(0, |&hash| shard(hash, self.query.shards));
        let shards: Vec<KeyId> = records.keys().iter().map(|key| KeyId(shard_of(key))).collect();
        let sorted: Vec<u32> = Sorted::new(&shards, records.times()).rows().collect();

        let picked = |values: &[i64]| sorted.iter().filter_map(|&row| values.get(row as usize).copied()).collect::<Vec<i64>>();
        let times = picked(Time::ticks(records.times()));
        let keys: Vec<KeyId> = sorted.iter().filter_map(|&row| records.keys().get(row as usize).copied()).collect();
        let mut columns = self.keys.columns(&keys)?;
        columns.push(Arc::new(Int64Array::from(times.clone())));
        columns.push(Arc::new(Int64Array::from(picked(bytemuck::cast_slice(records.arrivals())))));
        for input in records.inputs() {
            columns.push(convert::array(input.gather(&sorted))?);
        }
        let shards = sorted.iter().filter_map(|&row| shards.get(row as usize).map(|shard| shard.0)).collect();
        Ok(vec![Partials { form: Form::Records, rows: unnamed(columns)?, shards, times: Time::slice(&times).to_vec() }])
    }

    fn close(&mut self, frontier: Option<Time>, emit: &mut Emit<'_>) -> Result<()> {
        self.records.sort();
        let states = self.query.bank();
        let inputs = self.query.taken(self.records.inputs());
        let until = frontier.map(|time| time.floor(self.sliding.resolution).unwrap_or(Time::MIN));
        for planned in self.records.plan(self.sliding, Ends { from: self.planned, until }) {
            let planned = planned.map_err(|beyond| self.query.beyond(beyond.0))?;
            // A sweep begins with all rows of its first window: it pays for as many windows as that has rows.
            let (windows, rows) =
                if states.gathers() { (RESULT_ROWS, GATHERED_ROWS) } else { (RESULT_ROWS.max(planned.widest()), usize::MAX) };
            let mut result = |piece: Range<usize>| {
                let runs = planned.runs.get(piece.clone()).unwrap_or_default();
                let lowered = states.sweep(self.records.times(), self.records.arrivals(), &inputs, runs)?;
                let keys = self.keys.columns(planned.keys.get(piece.clone()).unwrap_or_default())?;
                self.query.result(keys, planned.windows.get(piece).unwrap_or_default(), lowered)
            };
            planned.pieces(windows, rows).try_for_each(|piece| in_halves(piece, &mut result, emit))?;
        }
        match until {
            Some(until) => {
                self.planned = until;
                self.records.release(self.sliding.horizon(until));
            }
            None => {
                self.planned = Time::MIN;
                self.records = Records::new(empty(&self.query)?);
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

    fn keys(&mut self) -> &mut Keys {
        &mut self.keys
    }
}
