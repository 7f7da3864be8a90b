//! A sliding query: buffers and moves rows unchanged, then sorts and sweeps them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_empty_array};

use super::batch_operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows};
use super::layout::sliding_records::SlidingRecords;
use super::list_room::ListSizes;
use super::row_buffer::RowBuffer;
use super::shards::{self, SortedByShard};
use crate::array::convert;
use crate::array::halves::in_halves;
use crate::core::aggregate::column::{gather, list};
use crate::core::aggregate::window_results::WindowResults;
use crate::core::aggregate::{RowSpan, SeqNo};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::memory;
use crate::core::sliding::frame::RangeFrame;
use crate::core::sliding::plan::{Ends, Sliding};
use crate::core::sort::pick;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::format::block::BlockKind;
use crate::input::records::Records;
use crate::keys::KeyInterner;
use crate::plan::frames::joined;
use crate::plan::query::Query;

/// Approximate rows in the windows of one result batch, if a window lists all its rows.
const GATHERED_ROWS: usize = 1 << 24;

/// Computes the user functions for windows: one column per function, one row per window. The spans
/// index into the sorted rows.
pub(super) type RunValues<'a> =
    dyn FnMut(&RowBuffer, &[RowSpan], &[Window]) -> Result<Vec<ArrayRef>> + 'a;

/// The operator of a sliding query.
pub(super) struct SlidingQuery {
    query: Arc<Query>,
    sliding: Sliding,
    keys: KeyInterner,
    records: RowBuffer,
    /// All windows that end before this time were emitted.
    emitted: Time,
}

impl SlidingQuery {
    /// Starts without rows.
    pub(super) fn new(query: Arc<Query>, sliding: Sliding) -> Result<Self> {
        let records = RowBuffer::new(empty(&query)?);
        if query.row_number.is_none() && !query.frames.is_empty() {
            return Err(Error::Internal(
                "a window that is not of a record has no frames",
            ));
        }
        Ok(Self {
            keys: KeyInterner::new(&query.keys)?,
            sliding,
            records,
            emitted: Time::MIN,
            query,
        })
    }

    fn push(
        &mut self,
        keys: &[ArrayRef],
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
    ) -> Result<()> {
        let mut ids = Vec::with_capacity(times.len());
        self.keys.intern(keys, &mut ids)?;
        if ids.contains(&KeyId::NULL) {
            return Err(Error::Internal("a row has no key"));
        }
        self.records
            .push(self.sliding, &ids, times, seq_nos, inputs)
            .map_err(|error| self.query.name_overflow(error, &[], &[]))
    }
}

/// The input columns of a query, without rows.
fn empty(query: &Query) -> Result<Vec<ArrayRef>> {
    let inputs = query.inputs.iter();
    inputs
        .map(|input| convert::canonical(&new_empty_array(input.field.data_type())))
        .collect()
}

impl SlidingQuery {
    /// Closes windows like [`BatchOperator::close`]. `functions` computes the user functions from
    /// the row spans of windows.
    pub(super) fn close_with(
        &mut self,
        frontier: Option<Time>,
        functions: &mut RunValues<'_>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.records.sort(interrupt)?;
        let framed = self.query.by_frame();
        let grows = framed.iter().any(|known| known.states.result_grows());
        let inputs = self.query.accumulator_inputs(&self.records.inputs());
        let until = frontier.map(|time| time.floor(self.sliding.resolution).unwrap_or(Time::MIN));
        let ends = Ends {
            from: self.emitted,
            until,
        };
        let at_ends = self.at_ends();
        for batch in self.records.plan(self.sliding, ends, at_ends, interrupt) {
            let batch = batch.map_err(|error| self.query.name_overflow(error, &[], &[]))?;
            // A sweep first adds all rows of its first window. That pays off if it then covers at
            // least as many windows as this window has rows.
            let (windows, rows) = if grows {
                (RESULT_ROWS, GATHERED_ROWS)
            } else {
                (RESULT_ROWS.max(batch.widest()), usize::MAX)
            };
            let mut result = |piece: Range<usize>| {
                interrupt.check()?;
                memory::headroom()?;
                let spans = batch.spans.get(piece.clone()).unwrap_or_default();
                let (times, seq_nos) = (self.records.times(), self.records.seq_nos());
                let lowered = joined(&framed, |aggregates| {
                    let spans = batch.spans_of(aggregates.number);
                    let spans = spans.get(piece.clone()).unwrap_or_default();
                    let states = &aggregates.states;
                    states.sweep(times, seq_nos, &inputs, spans, interrupt)
                });
                let keys = batch.keys.get(piece.clone()).unwrap_or_default();
                let windows = batch.windows.get(piece.clone()).unwrap_or_default();
                let Some(number) = self.query.row_number else {
                    let functions = functions(&self.records, spans, windows)?;
                    let keys = self.keys.columns(keys)?;
                    return self
                        .query
                        .result_with(keys, windows, &[], lowered, functions);
                };
                let lowered = match lowered {
                    Ok(lowered) => lowered,
                    Err(error) => {
                        let keys = self.keys.columns(keys)?;
                        return Err(self.query.name_overflow(error, &keys, windows));
                    }
                };
                let at_end = batch.at_end.get(piece).unwrap_or_default();
                if grows {
                    return self.with_rows(number, keys, windows, lowered, at_end);
                }
                let order = self.records.by_arrival(at_end)?;
                let columns = lowered.columns.iter().map(|column| gather(column, &order));
                let columns = WindowResults {
                    columns: columns.collect::<Result<_>>()?,
                    ..lowered
                };
                let (keys, windows, at_end) = (
                    pick(keys, &order)?,
                    pick(windows, &order)?,
                    pick(at_end, &order)?,
                );
                self.with_rows(number, &keys, &windows, columns, &at_end)
            };
            for piece in batch.pieces(windows, rows) {
                let results = in_halves(piece, &mut result)?;
                results.into_iter().for_each(&mut *emit);
            }
        }
        match until {
            Some(until) => {
                self.emitted = until;
                self.records
                    .release(self.sliding.horizon(until), interrupt)?;
            }
            None => {
                self.emitted = Time::MIN;
                self.records = RowBuffer::new(empty(&self.query)?);
            }
        }
        // This forgets keys without rows.
        let columns = self.keys.columns(self.records.keys())?;
        self.keys.clear();
        let mut keys = Vec::with_capacity(self.records.keys().len());
        self.keys.intern(&columns, &mut keys)?;
        self.records.renumber(keys);
        Ok(())
    }

    /// The rows that future windows can contain.
    pub(super) fn records(&self) -> &RowBuffer {
        &self.records
    }

    /// The frames of windows that end at records; none if windows do not.
    fn at_ends(&self) -> Option<&[RangeFrame]> {
        let number = self.query.row_number;
        number.map(|_| self.query.frames.as_slice())
    }

    /// A batch of windows with an additional last column that lists the rows at the end of each
    /// window.
    fn with_rows(
        &self,
        number: usize,
        keys: &[KeyId],
        windows: &[Window],
        mut lowered: WindowResults,
        at_end: &[RowSpan],
    ) -> Result<RecordBatch> {
        lowered.columns.push(self.lists(number, at_end)?);
        self.query
            .result(self.keys.columns(keys)?, windows, &[], Ok(lowered))
    }

    /// Lists the values of an input for each span of rows.
    fn lists(&self, input: usize, spans: &[RowSpan]) -> Result<ArrayRef> {
        let inputs = self.records.inputs();
        let values = inputs
            .get(input)
            .ok_or(Error::Internal("an input is missing"))?;
        let mut offsets = Vec::with_capacity(spans.len() + 1);
        offsets.push(0);
        let mut rows = Vec::with_capacity(spans.iter().map(RowSpan::len).sum());
        for span in spans {
            rows.extend(span.from..span.to);
            offsets.push(rows.len() as i64);
        }
        Ok(list(offsets, gather(values, &rows)?))
    }
}

impl BatchOperator for SlidingQuery {
    fn add(&mut self, input: Records) -> Result<()> {
        self.push(&input.keys, input.times(), input.seq_nos(), input.inputs())
    }

    fn add_block(&mut self, _kind: BlockKind, block: &RecordBatch) -> Result<()> {
        let records = SlidingRecords::read(&self.query, block)?;
        let SlidingRecords {
            keys,
            times,
            seq_nos,
            inputs,
        } = records;
        self.push(&keys, times, &seq_nos, &inputs)
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        let mut records = std::mem::replace(&mut self.records, RowBuffer::new(empty(&self.query)?));
        let shards = shards::of(&self.keys, &self.query, records.keys())?;
        let sorted = SortedByShard::new(&shards, records.times(), interrupt)?;
        records.pick(&sorted.rows, interrupt)?;
        let columns = SlidingRecords {
            keys: self.keys.columns(records.keys())?,
            times: records.times(),
            seq_nos: records.seq_nos().to_vec(),
            inputs: records.inputs(),
        };
        let rows = columns.write()?;
        Ok(vec![ShardRows::new(BlockKind::Records, rows, sorted)])
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.close_with(frontier, &mut |_, _, _| Ok(Vec::new()), emit, interrupt)
    }

    fn list_sizes(&mut self, interrupt: &Interrupt) -> Result<ListSizes> {
        let framed = self.query.by_frame();
        let mut sizes = ListSizes::default();
        if !framed.iter().any(|known| known.states.keeps_lists()) {
            return Ok(sizes);
        }
        self.records.sort(interrupt)?;
        let inputs = self.query.accumulator_inputs(&self.records.inputs());
        let (times, seq_nos) = (self.records.times(), self.records.seq_nos());
        let at_ends = self.at_ends();
        for batch in self
            .records
            .plan(self.sliding, Ends::ALL, at_ends, interrupt)
        {
            let batch = batch.map_err(|error| self.query.name_overflow(error, &[], &[]))?;
            sizes.windows += batch.spans.len();
            for aggregates in &framed {
                let (states, spans) = (&aggregates.states, batch.spans_of(aggregates.number));
                sizes.lists += states.list_values(times, seq_nos, &inputs, spans, interrupt)?;
            }
        }
        Ok(sizes)
    }

    fn rows(&self) -> usize {
        self.records.keys().len()
    }

    fn keys(&mut self) -> Option<&mut KeyInterner> {
        Some(&mut self.keys)
    }
}
