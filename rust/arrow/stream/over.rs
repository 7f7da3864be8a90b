//! A micro-batch whose rows come back, each with the sliding window that ends at it and the aggregates
//! of that window as they are then: after all records of the micro-batch up to its time, or, where
//! records have an order, right after it.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take;

use super::bulk::RECORDS_PER_CHECK;
use super::judgement::Judgement;
use super::operator::Operator;
use super::source_time::SourceTime;
use super::states::{OperatorStates, lower};
use super::windows::Windows;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::slot::Slot;
use crate::aggregate::{Run, SeqNo, two_stacks};
use crate::arrow::array::halves::in_halves;
use crate::arrow::plan::query::Query;
use crate::arrow::read::events::{Event, EventBatch};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::sliding::record::SlidingOperator;
use crate::sort::SortedRows;
use crate::time::Time;
use crate::window::Window;

/// Rows in a batch of windows.
const ROWS: usize = 1 << 16;

/// How often a stored time may be merged into windows one by one: in more of them, it goes by way of
/// two stacks.
const MERGES: u64 = 4;

/// A record that is not late.
#[derive(Clone, Copy)]
struct OverRecord {
    key: KeyId,
    window: Window,
    row: u32,
}

/// The windows of the rows of a batch, and their states.
struct OverWindows {
    /// The window of each row and the slot of its states; none for a row that is late or left out.
    of_row: Vec<Option<(Window, Slot)>>,
    states: Accumulators,
}

impl Operator {
    /// Pushes the records of a micro-batch, as [`Self::push_micro_batch`] does, of a query whose records
    /// come back. Returns `window` and the aggregates of each row, in their order and in some batches;
    /// null for a record that is late or left out.
    ///
    /// # Errors
    ///
    /// As [`Self::push_micro_batch`].
    pub fn push_over(
        &mut self,
        batch: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> Result<Vec<RecordBatch>> {
        if !self.spec.over {
            return Err(Error::Internal("a query asks for its records"));
        }
        let judgement = match times {
            Some(times) => Judgement::order(times, batch.num_rows(), 1, false)?,
            None => Judgement::Start,
        };
        self.check_progress(progress)?;
        self.run("micro-batch", |operator| {
            let changes = operator.begin_micro_batch();
            let rows = operator.add_over(batch, &judgement)?;
            operator.end_micro_batch(progress, changes)?;
            Ok(rows)
        })
    }

    fn add_over(&mut self, batch: &RecordBatch, judgement: &Judgement) -> Result<Vec<RecordBatch>> {
        let Self {
            state,
            keys,
            interrupt,
            ..
        } = self;
        let query = Arc::clone(&state.query);
        let events = EventBatch::read_numbered(&query, &state.sort_keys, keys, batch)?;
        let columns = events.columns(&query)?;
        let numbers: Vec<SeqNo> = (state.seq_nos..).take(events.rows()).collect();
        let (windows, mut states) = state.with_rows(events.times(), &numbers, &columns);
        let Windows::Sliding(operator) = windows else {
            return Err(Error::Internal("sliding windows end at records"));
        };
        let mut records = Vec::with_capacity(events.rows());
        for (row, &key) in events.ids().iter().enumerate() {
            // Ticks come as progress.
            if let Event::Record(record) = events.event(row, &query)?
                && let Ok(record) = judgement.admit(operator, record)
                && let Some(window) = operator.window_at(&record)?
            {
                let row = record.row;
                records.push(OverRecord { key, window, row });
            }
        }
        let mut over = OverWindows {
            of_row: vec![None; events.rows()],
            states: query.accumulators(),
        };
        match judgement {
            Judgement::Start => {
                over.add_together(&records, operator, &events, &mut states, interrupt)?;
            }
            Judgement::Arrival | Judgement::Order { .. } => {
                over.add_each(&records, operator, &events, &mut states, interrupt)?;
            }
        }
        state.seq_nos += events.rows() as u64;
        over.batches(&query, events.keys(), interrupt)
    }
}

impl OverWindows {
    /// Adds all records, and then reads the windows of all.
    fn add_together(
        &mut self,
        records: &[OverRecord],
        operator: &mut SlidingOperator,
        events: &EventBatch,
        states: &mut OperatorStates<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (keys, ends): (Vec<KeyId>, Vec<Time>) = records
            .iter()
            .map(|record| (record.key, record.window.end))
            .collect();
        // The stored times around the records, one key after the other, and which of them a window has.
        let (mut times, mut slots): (Vec<Time>, Vec<Slot>) = (Vec::new(), Vec::new());
        let (mut runs, mut into) = (Vec::new(), Vec::new());
        for (number, sorted) in SortedRows::new(&keys, &ends, interrupt)?.by_key() {
            let name = events.name_of(number).unwrap_or_default();
            let key = operator.store_mut().intern(name)?;
            let of_key = || {
                sorted
                    .iter()
                    .filter_map(|&(_, nth)| records.get(nth as usize))
            };
            for record in of_key() {
                operator.add_at_end(key, record.window, record.row, states)?;
            }
            let (Some(first), Some(last)) = (of_key().next(), of_key().next_back()) else {
                continue;
            };
            let around = Window {
                start: first.window.start,
                end: last.window.end,
            };
            let from = times.len();
            for time in operator.times_in(key, around) {
                times.push(time.start);
                slots.push(time.slot);
            }
            let stored = times.get(from..).unwrap_or_default();
            let place = |before: usize| (from + before) as u32;
            for at_end in sorted.chunk_by(|(left, _), (right, _)| left == right) {
                let slot = Slot(runs.len() as u32);
                for &(_, nth) in at_end {
                    let record = records.get(nth as usize);
                    let record = record.ok_or(Error::Internal("rows are those of records"))?;
                    self.put(record, slot);
                    if into.last() != Some(&slot) {
                        let Window { start, end } = record.window;
                        into.push(slot);
                        runs.push(Run {
                            from: place(stored.partition_point(|&time| time < start)),
                            to: place(stored.partition_point(|&time| time <= end)),
                        });
                    }
                }
            }
        }
        self.states.resize(into.len());
        self.merge(states.batch_states().accumulators(), &slots, &runs, &into)
    }

    /// Merges the states of runs of stored times into those of windows.
    fn merge(
        &mut self,
        stored: &Accumulators,
        slots: &[Slot],
        runs: &[Run],
        into: &[Slot],
    ) -> Result<()> {
        let merges: u64 = runs.iter().map(|run| run.len() as u64).sum();
        if merges <= MERGES * slots.len() as u64 || stored.result_grows() {
            let pairs = runs.iter().zip(into).flat_map(|(run, &slot)| {
                let own = slots.get(run.from as usize..run.to as usize);
                own.unwrap_or_default()
                    .iter()
                    .map(move |&from| (slot, from))
            });
            let (into, from): (Vec<Slot>, Vec<Slot>) = pairs.unzip();
            return self.states.merge(&into, stored, &from);
        }
        let lift = |states: &mut Accumulators, place: u32| match slots.get(place as usize) {
            Some(&from) => states.merge(&[Slot(place)], stored, &[from]),
            None => Ok(()),
        };
        two_stacks::merge_runs(&mut self.states, slots.len(), runs, into, lift)
    }

    /// Adds records in their order, and reads the window of each as it is then.
    fn add_each(
        &mut self,
        records: &[OverRecord],
        operator: &mut SlidingOperator,
        events: &EventBatch,
        states: &mut OperatorStates<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.states.resize(records.len());
        for (nth, record) in records.iter().enumerate() {
            if nth.is_multiple_of(RECORDS_PER_CHECK) {
                interrupt.check()?;
            }
            let name = events.name_of(record.key).unwrap_or_default();
            let key = operator.store_mut().intern(name)?;
            operator.add_at_end(key, record.window, record.row, states)?;
            let times = operator.times_in(key, record.window);
            let from: Vec<Slot> = times.map(|time| time.slot).collect();
            let slot = Slot(nth as u32);
            let stored = states.batch_states().accumulators();
            self.states.merge(&vec![slot; from.len()], stored, &from)?;
            self.put(record, slot);
        }
        Ok(())
    }

    fn put(&mut self, record: &OverRecord, slot: Slot) {
        if let Some(of_row) = self.of_row.get_mut(record.row as usize) {
            *of_row = Some((record.window, slot));
        }
    }

    /// `window` and the aggregates of each row; `keys` are the key columns of the rows.
    fn batches(
        &self,
        query: &Query,
        keys: &[ArrayRef],
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordBatch>> {
        let schema = schema(query);
        let mut batches = Vec::new();
        for from in (0..self.of_row.len()).step_by(ROWS) {
            interrupt.check()?;
            let rows = from..self.of_row.len().min(from + ROWS);
            let mut batch = |rows: std::ops::Range<usize>| {
                let of_row = self.of_row.get(rows.clone()).unwrap_or_default();
                let (windows, slots): (Vec<Window>, Vec<Slot>) =
                    of_row.iter().flatten().copied().collect();
                let numbers = (0_u32..).zip(of_row.iter());
                let known: UInt32Array = numbers
                    .filter_map(|(row, window)| window.map(|_| rows.start as u32 + row))
                    .collect();
                let mut next = 0_u32..;
                let places: UInt32Array = of_row
                    .iter()
                    .map(|window| window.and_then(|_| next.next()))
                    .collect();
                let keys = keys
                    .iter()
                    .map(|column| take(column, &known, None))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                let lowered = self.states.lower(&slots);
                let mut columns = vec![query.window(&windows)?];
                columns.extend(lower(query, &keys, lowered, &[], &slots, &windows)?);
                let columns = columns
                    .iter()
                    .map(|column| take(column, &places, None))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
            };
            in_halves(rows, &mut batch, &mut |batch| batches.push(batch))?;
        }
        Ok(batches)
    }
}

/// `window` and the aggregates, all of them null for some rows.
fn schema(query: &Query) -> SchemaRef {
    let fields = query.output.fields().iter().skip(query.keys.len());
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
