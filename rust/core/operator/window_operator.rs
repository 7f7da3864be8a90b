//! The record-by-record operator: stored windows, stream time and counters, and what a record does
//! to them.
//!
//! ```text
//!   record ─▶ admit ────────▶ add ──────────────▶ close
//!             counts it,      the kind of windows  windows due before the close time
//!             moves time      decides and applies  are final, hidden ones are dropped
//! ```
//!
//! What differs between sessions and sliding windows is their [`WindowKind`].

use super::change::{Emit, Sink};
use super::counters::Counters;
use super::record::{EffectiveGap, KeyedRecord, Record, RecordOutcome, ValidRecord};
use super::stream_time::{Progress, Source, StreamTime, StreamTimes};
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::store::{StoreEntry, WindowTable};
use crate::core::time::{Span, Time};
use crate::core::window::{Horizon, Window};

/// A kind of windows, as the user asked for it.
pub trait WindowKind: Sized {
    /// A stored window.
    type Entry: StoreEntry;
    /// Buffers that [`Self::add`] reuses from record to record.
    type Scratch: Default;

    /// Whether the lengths fit together.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`](crate::core::error::Error::Argument) for lengths that do not fit together.
    fn check(&self) -> Result<()>;
    /// Length of a store's segments.
    fn segment(&self) -> Span;
    /// What stream time is floored to.
    fn unit(&self) -> Span;
    /// How long windows still wait for late records; none: for ever, as in batch.
    fn grace(&self) -> Option<Span>;
    /// When windows are emitted.
    fn emit(&self) -> Emit;
    /// What is visible.
    fn horizon(&self, now: StreamTimes) -> Horizon;
    /// Windows due before this are closed at a close time.
    fn due_before(&self, close: Time) -> Time;
    /// The bounds of a stored window.
    fn window(&self, entry: &Self::Entry) -> Window;
    /// A record's gap in effect, by the value of its gap column.
    fn gap(&self, own: Option<i64>) -> EffectiveGap;
    /// What a record does to the stored windows of its key.
    ///
    /// # Errors
    ///
    /// As [`WindowOperator::push`].
    fn add<S: States>(
        windows: &mut WindowOperator<Self>,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome>;
}

/// The windows of one stream, and its stream time.
#[derive(Clone, Debug)]
pub struct WindowOperator<K: WindowKind> {
    pub(crate) windows: K,
    pub(crate) store: WindowTable<K::Entry>,
    pub(crate) counters: Counters,
    pub(crate) scratch: K::Scratch,
    time: StreamTime,
}

impl<K: WindowKind> WindowOperator<K> {
    /// No windows yet; `inputs` is 1 except for a cogroup.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`](crate::core::error::Error::Argument) for lengths that do not fit together.
    pub fn new(windows: K, inputs: usize) -> Result<Self> {
        windows.check()?;
        Ok(Self {
            store: WindowTable::new(windows.segment()),
            time: StreamTime::new(inputs, windows.grace(), windows.unit()),
            counters: Counters::default(),
            scratch: K::Scratch::default(),
            windows,
        })
    }

    /// The stored windows, for queries.
    pub fn store(&self) -> &WindowTable<K::Entry> {
        &self.store
    }

    /// The stored windows, to restore them.
    pub fn store_mut(&mut self) -> &mut WindowTable<K::Entry> {
        &mut self.store
    }

    /// Stream time.
    pub fn time(&self) -> &StreamTime {
        &self.time
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sets stream time, how far windows were closed, and the counters of a saved state. Its windows
    /// follow through [`Self::store_mut`].
    pub fn resume(
        &mut self,
        progress: impl IntoIterator<Item = Progress>,
        closed: Time,
        counters: Counters,
    ) {
        self.time.resume(progress);
        self.store.resume(closed);
        self.store
            .advance(self.windows.horizon(self.time.slowest()));
        self.counters = counters;
    }

    /// Closes the windows that a smaller grace than before a restart closes: before the records of a
    /// batch, so that each is emitted before it is hidden.
    ///
    /// # Errors
    ///
    /// What `states` and `out` return.
    pub fn catch_up<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.catch_up_time();
        self.close(self.time.slowest(), states, out)
    }

    /// Takes the next record: moves stream time, changes windows, closes those that are due.
    ///
    /// # Errors
    ///
    /// What `states` and `out` return, and [`crate::core::error::Error::TimeOverflow`] for a sliding window
    /// that starts before the earliest time.
    pub fn push<S: States>(
        &mut self,
        record: Record<'_, S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let outcome = match self.admit(record) {
            Ok(admitted) => self.add(admitted, states, out)?,
            Err(outcome) => return Ok(outcome),
        };
        self.close(self.time.slowest(), states, out)?;
        Ok(outcome)
    }

    /// Takes the next tick: moves time as [`Self::observe_tick`] does, and closes windows.
    ///
    /// # Errors
    ///
    /// What `states` and `out` return.
    pub fn tick<S: States>(
        &mut self,
        input: Option<usize>,
        source: Option<Source>,
        time: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.observe_tick(input, source, time);
        self.close(self.time.slowest(), states, out)
    }

    /// Counts a record and moves stream time, which then judges it; the outcome of a record without a
    /// key or a time or with a bad gap, which does neither.
    ///
    /// # Errors
    ///
    /// That outcome.
    #[inline]
    pub fn admit<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let (input, source) = (record.input, record.source);
        let mut valid = self.validate(record)?;
        self.time.observe(input, source, valid.time);
        valid.now = self.time.now(input);
        Ok(valid)
    }

    /// Counts a record that stream time judges as it stands: it does not move (rules 1.2). Otherwise as
    /// [`Self::admit`].
    ///
    /// # Errors
    ///
    /// As [`Self::admit`].
    pub fn admit_at_start<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let input = record.input;
        let mut valid = self.validate(record)?;
        valid.now = self.time.now(input);
        Ok(valid)
    }

    /// Counts a record that has a key, a time and a good gap; it is judged by no time yet.
    #[inline]
    fn validate<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let Some(name) = record.key else {
            self.counters.null_keys += 1;
            return Err(RecordOutcome::NullKey);
        };
        let Some(time) = record.time else {
            self.counters.null_times += 1;
            return Err(RecordOutcome::NullTime);
        };
        let gap = match self.windows.gap(record.gap) {
            EffectiveGap::Asked(gap) => gap,
            EffectiveGap::Clamped(gap) => {
                self.counters.clamped_gaps += 1;
                gap
            }
            EffectiveGap::Bad => {
                self.counters.bad_gaps += 1;
                return Err(RecordOutcome::BadGap);
            }
        };
        self.counters.records += 1;
        Ok(ValidRecord {
            name,
            time,
            gap: if record.ends { Span(0) } else { gap },
            now: StreamTimes::START,
            row: record.row,
        })
    }

    /// Moves the time of a source of an input to what was seen there. Nothing closes.
    pub fn observe(&mut self, input: usize, source: Source, time: Time) {
        self.time.observe(input, source, time);
    }

    /// The same of several sources at once.
    pub fn observe_together(&mut self, seen: impl Iterator<Item = (usize, Source, Time)>) {
        self.time.observe_together(seen);
    }

    /// What closes where time goes on from saved progress to `times`, one after the other, and then to
    /// `seen`, all at once: before when windows are due, and since when closed ones are kept.
    pub fn closing(
        &self,
        saved: impl IntoIterator<Item = Progress>,
        times: impl Iterator<Item = (usize, Source, Time)>,
        seen: impl Iterator<Item = (usize, Source, Time)>,
    ) -> (Time, Time) {
        let mut time = self.time.clone();
        time.resume(saved);
        time.catch_up();
        for (input, source, reached) in times {
            time.observe(input, source, reached);
        }
        time.observe_together(seen);
        let now = time.slowest();
        let kept = self.windows.horizon(now).kept;
        (self.windows.due_before(now.close), kept)
    }

    /// The close times go with the grace, which may be smaller than before a restart. Nothing closes.
    pub fn catch_up_time(&mut self) {
        self.time.catch_up();
        self.store
            .advance(self.windows.horizon(self.time.slowest()));
    }

    /// Counts a tick and moves the time of one input or of all, of one source or of all known ones.
    /// Nothing closes.
    pub fn observe_tick(
        &mut self,
        input: Option<usize>,
        source: Option<Source>,
        time: Option<Time>,
    ) {
        let Some(time) = time else {
            self.counters.bad_ticks += 1;
            return;
        };
        self.counters.ticks += 1;
        let inputs = input.map_or(0..self.time.progress().len(), |input| input..input + 1);
        for input in inputs {
            match source {
                Some(source) => self.time.observe(input, source, time),
                None => self.time.observe_all(input, time),
            }
        }
    }

    /// Changes windows by a valid record, judged by its own time. Stream time does not move and
    /// nothing closes.
    ///
    /// # Errors
    ///
    /// As [`Self::push`].
    pub fn add<S: States>(
        &mut self,
        record: ValidRecord<'_, S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let ValidRecord {
            name,
            time,
            gap,
            now,
            row,
        } = record;
        self.store.advance(self.windows.horizon(now));
        let key = self.store.intern(name)?;
        K::add(
            self,
            KeyedRecord {
                key,
                time,
                gap,
                late: now.late,
                row,
            },
            states,
            out,
        )
    }

    /// Closes the windows due before the close time, and drops those that are hidden for good.
    ///
    /// # Errors
    ///
    /// What `states` and `out` return.
    pub fn close<S: States>(
        &mut self,
        now: StreamTimes,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.store.advance(self.windows.horizon(now));
        let closed = self.store.close(self.windows.due_before(now.close));
        self.emit_finals(&closed, states, out)?;
        self.store
            .drop_closed(&closed, |entry| states.release(entry.slot()));
        self.store.expire(|entry| states.release(entry.slot()));
        Ok(())
    }

    /// Drops every window that is closed and hidden, so that a saved state has none of them.
    pub fn drop_hidden<S: States>(&mut self, states: &mut S) {
        self.store.drop_hidden(|entry| states.release(entry.slot()));
    }

    /// Closes all windows: the input has ended.
    ///
    /// # Errors
    ///
    /// What `states` and `out` return.
    pub fn finish<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let pending = self.store.pending();
        self.emit_finals(&pending, states, out)?;
        self.store.clear(|entry| states.release(entry.slot()));
        Ok(())
    }
}
