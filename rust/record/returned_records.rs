//! A micro-batch that returns its rows. Each row gets the sliding window that ends at it and the
//! window's aggregates. The window has all records of the micro-batch up to its end. If records
//! have an order, it has only the records up to this one.

use std::iter;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take;

use super::changes::Changes;
use super::judgement::Judgement;
use super::operator::Operator;
use super::operator_states::OperatorStates;
use super::window_runs::{Member, WindowRuns};
use super::windows::Windows;
use crate::array::halves::in_halves;
use crate::batch::batch_operator::RESULT_ROWS;
use crate::batch::positions::positions;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sort::SortedRows;
use crate::core::store::WindowEntry;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::input::events::{Event, EventBatch};
use crate::plan::frames::{FramedAggregates, joined};
use crate::plan::query::Query;
use crate::state::source_time::SourceTime;

/// A record that is not late.
#[derive(Clone, Copy)]
struct ReturnedRecord {
    key: KeyId,
    window: Window,
    row: u32,
}

/// The window of a row.
#[derive(Clone, Copy)]
struct RowWindow {
    window: Window,
    /// The slot of its states.
    slot: Slot,
    /// The rows of the window that come after this one.
    after: i64,
}

/// The windows of the rows of a batch, and their states.
struct ReturnedWindows {
    /// `None` for a row that is late or left out.
    of_row: Vec<Option<RowWindow>>,
    /// The aggregates over each frame, with the states of the windows.
    framed: Vec<FramedAggregates>,
}

impl Operator {
    /// Pushes the records of a micro-batch like [`Self::push_micro_batch`], for a query that
    /// returns its records. Returns `window` and the aggregates of each row, in row order and in
    /// batches. They are null for a record that is late or left out.
    pub fn push_returned_records(
        &mut self,
        batch: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> Result<Vec<RecordBatch>> {
        if !self.spec.returns_records {
            return Err(Error::Internal("a query does not return records"));
        }
        let judgement = match times {
            Some(times) => Judgement::order(times, batch.num_rows(), 1, false)?,
            None => Judgement::Start,
        };
        self.check_progress(progress)?;
        self.run_micro_batch(|operator| {
            // The times of records close without a change that is emitted.
            let mut changes = operator.begin_micro_batch();
            let rows = operator.add_returned_records(batch, &judgement, &mut changes)?;
            operator.close_due(progress, &mut changes)?;
            Ok(rows)
        })
    }

    fn add_returned_records(
        &mut self,
        batch: &RecordBatch,
        judgement: &Judgement,
        changes: &mut Changes,
    ) -> Result<Vec<RecordBatch>> {
        let query = Arc::clone(&self.state.query);
        self.with_numbered(batch, |events, windows, states, interrupt| {
            let Windows::Sliding(operator) = windows else {
                return Err(Error::Internal(
                    "a query that returns records has no sliding windows",
                ));
            };
            let mut records = Vec::with_capacity(events.rows());
            for (row, &key) in events.ids().iter().enumerate() {
                match events.event(row, &query)? {
                    Event::Tick { .. } => {} // ticks arrive as progress
                    Event::Bad(fault) => judgement.leave_out(operator, (row, fault), changes),
                    Event::Record(record) => {
                        let now = judgement.admit(operator, &record);
                        if let Some(window) = operator.window_at(record.extent.start, now)? {
                            let row = record.row;
                            records.push(ReturnedRecord { key, window, row });
                        }
                    }
                }
            }
            let mut returned = ReturnedWindows {
                of_row: vec![None; events.rows()],
                framed: query.by_frame(),
            };
            match judgement {
                Judgement::Start => {
                    returned.add_together(&records, operator, events, states, interrupt)?;
                }
                Judgement::Arrival | Judgement::Order { .. } => {
                    returned.add_in_order(&records, operator, events, states, interrupt)?;
                }
            }
            returned.batches(&query, events.keys(), interrupt)
        })
    }
}

impl ReturnedWindows {
    /// Adds all records, then computes all windows.
    fn add_together(
        &mut self,
        records: &[ReturnedRecord],
        operator: &mut SlidingOperator,
        events: &EventBatch,
        states: &mut OperatorStates<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let ends: Vec<Time> = records.iter().map(|record| record.window.end).collect();
        let mut runs = WindowRuns::new(self.framed.len());
        for (number, sorted) in by_key(records, &ends, interrupt)?.by_key() {
            interrupt.check()?;
            let name = events.name_of(number).unwrap_or_default();
            let key = operator.store_mut().intern(name)?;
            let own: Vec<&ReturnedRecord> = of_key(records, sorted).collect();
            for record in &own {
                operator.add_at_end(key, record.window, record.row, states)?;
            }
            let (Some(first), Some(last)) = (own.first(), own.last()) else {
                continue;
            };
            let base = runs.members();
            let around = Window {
                start: first.window.start,
                end: last.window.end,
            };
            let stored: Vec<WindowEntry> = operator.times_in(key, around).copied().collect();
            runs.extend(stored.iter().map(|time| Member::Time(time.slot)));
            for at_end in own.chunk_by(|left, right| left.window == right.window) {
                let slot = Slot(runs.len() as u32);
                let Some(window) = at_end.first().map(|record| record.window) else {
                    continue;
                };
                let run = |Window { start, end }| {
                    let from = stored.partition_point(|time| time.start < start);
                    let to = stored.partition_point(|time| time.start <= end);
                    (base + from, base + to)
                };
                let framed = self.framed.iter();
                runs.push(slot, framed.map(|known| run(known.part_of(window))));
                let mut in_order: Vec<_> = at_end.iter().collect();
                // Within one tick of the resolution, records are ordered by their own times and
                // ties.
                in_order.sort_by_key(|record| {
                    let row = record.row as usize;
                    (events.times().get(row).copied(), events.tie(row))
                });
                for (after, record) in (0..).zip(in_order.iter().rev()) {
                    self.put(record, slot, after);
                }
            }
        }
        self.resize(runs.len());
        runs.merge(&mut self.framed, states.batch_states())
    }

    /// Adds records in order, and computes each window right after its record. If the records of a
    /// key come in time order after all stored ones, their windows are runs of stored and new
    /// members.
    fn add_in_order(
        &mut self,
        records: &[ReturnedRecord],
        operator: &mut SlidingOperator,
        events: &EventBatch,
        states: &mut OperatorStates<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let places: Vec<Time> = (0..records.len() as i64).map(Time).collect();
        let mut runs = WindowRuns::new(self.framed.len());
        let mut added = Vec::with_capacity(records.len());
        self.resize(records.len());
        for (number, sorted) in by_key(records, &places, interrupt)?.by_key() {
            interrupt.check()?;
            let name = events.name_of(number).unwrap_or_default();
            let key = operator.store_mut().intern(name)?;
            let own: Vec<&ReturnedRecord> = of_key(records, sorted).collect();
            let slots = sorted.iter().map(|&(_, nth)| Slot(nth));
            let Some(first) = own.first() else { continue };
            let later = Window {
                start: first.window.end,
                end: Time::MAX,
            };
            let ascends = own.is_sorted_by_key(|record| record.window.end)
                && !operator
                    .times_in(key, later)
                    .any(|time| time.start > later.start);
            if !ascends {
                for (slot, record) in slots.zip(own) {
                    interrupt.check()?;
                    operator.add_at_end(key, record.window, record.row, states)?;
                    let stored = states.batch_states().accumulators();
                    for known in &mut self.framed {
                        let times = operator.times_in(key, known.part_of(record.window));
                        let from: Vec<Slot> = times.map(|time| time.slot).collect();
                        let into = vec![slot; from.len()];
                        known
                            .states
                            .merge_from(&into, stored, &known.stored, &from)?;
                    }
                    self.put(record, slot, 0);
                }
                continue;
            }
            let base = runs.members();
            let stored: Vec<WindowEntry> = operator.times_in(key, first.window).copied().collect();
            let mut times: Vec<Time> = stored.iter().map(|time| time.start).collect();
            runs.extend(stored.iter().map(|time| Member::Time(time.slot)));
            runs.extend(own.iter().map(|record| Member::Row(record.row)));
            for (slot, record) in slots.zip(own) {
                times.push(record.window.end);
                let run = |Window { start, end }| {
                    let from = times.partition_point(|&time| time < start);
                    let to = times.partition_point(|&time| time <= end);
                    (base + from, base + to)
                };
                let framed = self.framed.iter();
                runs.push(slot, framed.map(|known| run(known.part_of(record.window))));
                self.put(record, slot, 0);
                added.push((key, record));
            }
        }
        runs.merge(&mut self.framed, states.batch_states())?;
        for (key, record) in added {
            operator.add_at_end(key, record.window, record.row, states)?;
        }
        Ok(())
    }

    fn resize(&mut self, slots: usize) {
        let framed = self.framed.iter_mut();
        framed.for_each(|known| known.states.resize(slots));
    }

    fn put(&mut self, record: &ReturnedRecord, slot: Slot, after: i64) {
        if let Some(of_row) = self.of_row.get_mut(record.row as usize) {
            let window = record.window;
            *of_row = Some(RowWindow {
                window,
                slot,
                after,
            });
        }
    }

    /// `window` and the aggregates of each row. `keys` are the key columns of the rows.
    fn batches(
        &self,
        query: &Query,
        keys: &[ArrayRef],
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordBatch>> {
        let schema = schema(query);
        let mut batches = Vec::new();
        for from in (0..self.of_row.len()).step_by(RESULT_ROWS) {
            interrupt.check()?;
            let rows = from..self.of_row.len().min(from + RESULT_ROWS);
            let mut batch = |rows: std::ops::Range<usize>| {
                let of_row = self.of_row.get(rows.clone()).unwrap_or_default();
                let row_windows = || of_row.iter().flatten();
                let windows: Vec<Window> = row_windows().map(|row| row.window).collect();
                let slots: Vec<Slot> = row_windows().map(|row| row.slot).collect();
                let after: Vec<i64> = row_windows().map(|row| row.after).collect();
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
                let lowered = joined(&self.framed, |known| known.states.lower(&slots));
                let mut columns = vec![query.window(&windows)?];
                let (results, overflows) =
                    query.results(&keys, &windows, &[], lowered, &mut iter::empty())?;
                query.count_overflows(overflows);
                columns.extend(results);
                for (column, aggregate) in columns.iter_mut().skip(1).zip(&query.aggregates) {
                    if aggregate.is_position {
                        *column = positions(column, Some(&after))?;
                    }
                }
                let columns = columns
                    .iter()
                    .map(|column| take(column, &places, None))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
            };
            batches.extend(in_halves(rows, &mut batch)?);
        }
        Ok(batches)
    }
}

/// Sorts records by key, then by `times`.
fn by_key(records: &[ReturnedRecord], times: &[Time], interrupt: &Interrupt) -> Result<SortedRows> {
    let keys: Vec<KeyId> = records.iter().map(|record| record.key).collect();
    SortedRows::new(&keys, times, interrupt)
}

/// The records of a key.
fn of_key<'r>(
    records: &'r [ReturnedRecord],
    sorted: &[(Time, u32)],
) -> impl Iterator<Item = &'r ReturnedRecord> {
    sorted
        .iter()
        .filter_map(|&(_, nth)| records.get(nth as usize))
}

/// The schema of `window` and the aggregates. All are nullable.
fn schema(query: &Query) -> SchemaRef {
    let fields = query.output.fields().iter().skip(query.keys.len());
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
