//! The operator over Arrow batches. It processes every record in order, like Kafka Streams.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use super::bulk::{self, BatchContext};
use super::change_batch;
use super::changes::Changes;
use super::judgement::Judgement;
use super::left_out::LeftOut;
use super::operator_states::{CurrentRecord, OperatorStates};
use super::state_part::StatePart;
use super::state_store::StateStore;
use super::store_query::{self, KeyRange, StoreQuery};
use super::user_function::UserFunction;
use super::windows::{Windows, dispatch_windows};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::input::events::{Event, EventBatch};
use crate::keys::KeyInterner;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::plan::state_query::StateQuery;
use crate::state::segment_table::Layout;
use crate::state::snapshot::Snapshot;

/// The call that reads a saved state.
pub(super) const RESTORE: &str = "restore";

/// A record operator.
pub struct Operator {
    pub(super) spec: Spec,
    pub(super) state: StateStore,
    /// The records of the last batch that are in no window.
    pub(super) left_out: Option<LeftOut>,
    pub(super) snapshot: Snapshot,
    /// Numbers the keys of a batch.
    pub(super) keys: KeyInterner,
    /// The failed call that left a partially updated, unusable state.
    failed: Option<&'static str>,
    /// How much of a saved state it has.
    pub(super) part: StatePart,
    /// What is due before this closes in the micro-batch of [`Self::touched`].
    pub(super) due: Time,
    pub(super) interrupt: Interrupt,
}

impl Operator {
    /// Creates an operator without records. `functions` are the user-defined functions in the order
    /// of the spec, with the fields of their results.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`], [`Error::ColumnType`] or [`Error::Format`] for a spec that is
    /// inconsistent or does not fit the columns of `input` or `functions`.
    pub fn new(
        spec: &Spec,
        input: &Schema,
        functions: Vec<(Box<dyn UserFunction>, Field)>,
    ) -> Result<Self> {
        let (functions, fields): (Vec<_>, Vec<_>) = functions.into_iter().unzip();
        let query = Query::with_python(spec, input, &fields)?;
        if !query.frames.is_empty() && !spec.returns_records {
            return Err(Error::Internal(
                "a window that is not of a record has no frames",
            ));
        }
        let fingerprint = StateQuery::new(spec, &query).fingerprint()?;
        let keys = KeyInterner::new(&query.keys)?;
        let state = StateStore::new(spec, query, functions)?;
        let width = state.windows.segment_width();
        Ok(Self {
            snapshot: Snapshot::new(fingerprint, Layout::Ranges, width),
            keys,
            state,
            left_out: None,
            spec: spec.clone(),
            failed: None,
            part: StatePart::Whole,
            due: Time::MIN,
            interrupt: Interrupt::never(),
        })
    }

    /// Sets the interrupt that stops a push.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The schema of changes: keys, `window`, aggregates, `op`, `time`.
    pub fn schema(&self) -> SchemaRef {
        change_batch::schema(&self.state.query)
    }

    /// The schema of a query's result over the same windows: keys, `window`, aggregates, and `op`
    /// if requested.
    pub fn output(&self) -> SchemaRef {
        Arc::clone(&self.state.query.output)
    }

    /// Pushes the rows of a batch in order. Returns the changes, in several batches if they do not
    /// fit one. After an error the operator refuses every call.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] for a row that the query refuses. [`Error::Overflow`] for a result or
    /// bound that does not fit its type. [`Error::ArrayCapacity`] if the result of a single window does
    /// not fit an array. [`Error::Function`] for a failed user-defined function. Errors of the
    /// interrupt.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        self.check_whole()?;
        self.run("batch", |operator| operator.push_rows(batch))
    }

    /// Ends the input and closes all windows. Returns changes like [`Self::push`].
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.check_whole()?;
        self.run("batch", Self::close_all)
    }

    /// The visible windows of a query, in the order of rules 6.9 or its reverse. Returns several
    /// batches if they do not fit one.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] after a failed call, and errors of lowering the windows.
    pub fn select(
        &self,
        query: StoreQuery,
        keys: &KeyRange,
        backward: bool,
    ) -> Result<Vec<RecordBatch>> {
        match self.part {
            StatePart::Pages => self.check_usable()?,
            _ => self.check_whole()?,
        }
        store_query::select(&self.state, query, keys, backward)
    }

    pub(super) fn run<T>(
        &mut self,
        call: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.check_usable()?;
        self.failed = Some(call);
        let result = work(self).map_err(|error| self.state.query.name_overflow(error, &[], &[]))?;
        self.failed = None;
        Ok(result)
    }

    /// Fails after a failed call, which leaves a partially updated, unusable state.
    pub(super) fn check_usable(&self) -> Result<()> {
        self.failed.map_or(Ok(()), |call| {
            Err(unusable(format!(
                "an earlier {call} failed halfway: restore a new operator from saved pages"
            )))
        })
    }

    /// Like [`Self::check_usable`], but also fails if only a part of a state was read.
    pub(super) fn check_whole(&self) -> Result<()> {
        self.check_usable()?;
        match self.part {
            StatePart::Whole => Ok(()),
            StatePart::Pages => Err(unusable("it has only a part of a state, for reading")),
            StatePart::Due => Err(unusable("it lacks pages that its micro-batch needs")),
            StatePart::Runs | StatePart::Changed => Err(unusable(
                "it has only the runs of a state that one micro-batch touches",
            )),
        }
    }

    /// Checks that counters and times match the rows that the operator has seen.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] after a failed restore, which loses the saved counters or restores only
    /// some.
    pub fn check_restored(&self) -> Result<()> {
        match self.failed {
            Some(RESTORE) => self.check_usable(),
            _ => Ok(()),
        }
    }

    /// The records of the last batch that are in no window (rules 6.13), if the query asks for them.
    ///
    /// # Errors
    ///
    /// None of a batch that was pushed.
    pub fn take_left_out(&mut self) -> Result<Option<RecordBatch>> {
        self.left_out.take().map(LeftOut::into_batch).transpose()
    }

    /// No changes yet.
    pub(super) fn new_changes(&self) -> Changes {
        let mut changes = Changes::new(self.spec.every_record);
        let left_out = self.spec.left_out.as_ref();
        changes.left_out = left_out.map(|_| LeftOut::new(self.spec.late));
        changes
    }

    fn push_rows(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut changes = self.new_changes();
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| own.catch_up(&mut states, &mut changes))?;
        self.add_rows(batch, &Judgement::Arrival, &mut changes)?;
        self.left_out = changes.left_out.take();
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| own.emit_due(&mut states, &mut changes))?;
        self.state.updates += changes.updates();
        change_batch::write(changes, &mut self.state)
    }

    /// Adds rows in order.
    pub(super) fn add_rows(
        &mut self,
        batch: &RecordBatch,
        judgement: &Judgement,
        changes: &mut Changes,
    ) -> Result<()> {
        if !self.adds_in_bulk() {
            return self.add_each(batch, judgement, changes);
        }
        // The rows of a step stay in the CPU caches.
        let step = self.state.query.limits.step_rows;
        for from in (0..batch.num_rows()).step_by(step) {
            let length = step.min(batch.num_rows() - from);
            if let Some(left_out) = &mut changes.left_out {
                left_out.begin(from);
            }
            self.add_together(
                &batch.slice(from, length),
                &judgement.slice(from, length),
                changes,
            )?;
        }
        Ok(())
    }

    /// Whether records may be added in bulk. Order matters to user-defined functions and
    /// queries in which every record counts.
    fn adds_in_bulk(&self) -> bool {
        self.state.functions.is_empty() && !self.spec.every_record
    }

    /// Adds rows of many keys. Those of most keys go in bulk, if the query allows it.
    pub(super) fn add_together(
        &mut self,
        batch: &RecordBatch,
        judgement: &Judgement,
        changes: &mut Changes,
    ) -> Result<()> {
        let query = Arc::clone(&self.state.query);
        self.with_numbered(batch, |events, windows, states, interrupt| {
            let mut context = BatchContext {
                events,
                states,
                out: changes,
                judgement,
                interrupt,
            };
            dispatch_windows!(windows, |own| bulk::add(own, &query, &mut context))
        })
    }

    /// Adds the rows of a batch, with numbered keys, by `add`.
    pub(super) fn with_numbered<T>(
        &mut self,
        batch: &RecordBatch,
        add: impl FnOnce(&EventBatch, &mut Windows, &mut OperatorStates<'_>, &Interrupt) -> Result<T>,
    ) -> Result<T> {
        let Self { state, keys, .. } = self;
        let query = Arc::clone(&state.query);
        let events = EventBatch::read_numbered(&query, &state.sort_keys, keys, batch)?;
        let columns = events.columns(&query);
        let numbers = events.seq_nos(state.seq_nos);
        let (windows, mut states) = state.with_rows(events.times(), &numbers, &columns);
        let added = add(&events, windows, &mut states, &self.interrupt)?;
        state.seq_nos += events.rows() as u64;
        Ok(added)
    }

    fn add_each(
        &mut self,
        batch: &RecordBatch,
        judgement: &Judgement,
        changes: &mut Changes,
    ) -> Result<()> {
        let state = &mut self.state;
        let query = Arc::clone(&state.query);
        let events = EventBatch::read(&query, &state.sort_keys, batch)?;
        let columns = events.columns(&query);
        let numbers = events.seq_nos(state.seq_nos);
        let (windows, mut states) = state.with_rows(events.times(), &numbers, &columns);
        let mut rows = 0..events.rows();
        let interrupt = &self.interrupt;
        let added = rows.try_for_each(|row| {
            if row.is_multiple_of(bulk::RECORDS_PER_CHECK) {
                interrupt.check()?;
            }
            let record = match events.event(row, &query)? {
                Event::Tick {
                    input,
                    source,
                    time,
                } => {
                    states.at = CurrentRecord::default();
                    changes.note_tick(row, time);
                    return dispatch_windows!(windows, |own| own.tick(
                        input,
                        source,
                        time,
                        &mut states,
                        changes
                    ));
                }
                Event::Bad(fault) => {
                    dispatch_windows!(windows, |own| judgement.leave_out(
                        own,
                        (row, fault),
                        changes
                    ));
                    return Ok(());
                }
                Event::Record(record) => record,
            };
            states.at = CurrentRecord {
                row,
                input: events.input(row)?.unwrap_or_default(),
                time: Some(record.extent.start),
            };
            windows.push(record, judgement, &mut states, changes)
        });
        added?;
        state.seq_nos += events.rows() as u64;
        Ok(())
    }

    fn close_all(&mut self) -> Result<Vec<RecordBatch>> {
        let mut changes = Changes::new(true);
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| own.finish(&mut states, &mut changes))?;
        change_batch::write(changes, &mut self.state)
    }

    /// The counters. They include the rows of a batch before an error. If [`Self::check_restored`]
    /// fails, counters, open windows and stream time are meaningless.
    pub fn counters(&self) -> Counters {
        self.state.counters()
    }

    /// The number of open windows, including unread runs.
    pub fn windows_open(&self) -> u64 {
        let open = dispatch_windows!(&self.state.windows, |own| own.store().open());
        open as u64 + self.snapshot.unread()
    }

    /// Stream time, in ticks of the time column: the smallest over all inputs.
    pub fn stream_time(&self) -> Option<Time> {
        self.state.windows.time().slowest().time
    }

    /// The largest time of each known source of each input.
    pub fn source_times(&self) -> impl Iterator<Item = (usize, Source, Time)> {
        let inputs = self.state.windows.time().progress().iter().enumerate();
        inputs.flat_map(|(input, known)| {
            let sources = known.sources.iter();
            sources.map(move |&(source, time)| (input, source, time))
        })
    }
}

fn unusable(reason: impl Into<String>) -> Error {
    Error::Format {
        what: "operator",
        reason: reason.into(),
    }
}
