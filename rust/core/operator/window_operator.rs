//! The record-by-record operator: stored windows, stream time and counters, and how records change
//! them.
//!
//! ```text
//!   record ─▶ admit ────────▶ add ──────────────▶ close
//!             counts it,      the kind of windows  windows due before the close time
//!             moves time      decides and applies  are final, hidden ones are dropped
//! ```
//!
//! Sessions and sliding windows differ in their [`WindowKind`].

use super::change::{Emit, Sink};
use super::counters::Counters;
use super::pace::{Pace, last_due, release};
use super::record::{KeyedRecord, Record, RecordOutcome};
use super::stream_time::{Progress, Source, StreamTime, StreamTimes};
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::store::{StoreEntry, WindowTable};
use crate::core::time::{Span, Time};
use crate::core::window::{Horizon, Window};

/// What closes as stream time moves.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// Windows due before this time close.
    pub due: Time,
    /// Closed windows before this time leave.
    pub kept: Time,
    /// A window whose last row was emitted at this time or before may be emitted again. `None` if
    /// updates have no pace.
    pub emitted: Option<Time>,
}

impl Closing {
    /// Nothing closes, leaves or is emitted.
    pub const NOTHING: Self = Self {
        due: Time::MIN,
        kept: Time::MIN,
        emitted: None,
    };
}

/// A kind of window with its settings.
pub trait WindowKind: Sized {
    /// A stored window.
    type Entry: StoreEntry;
    /// Buffers that [`Self::add`] reuses for each record.
    type Scratch: Default;

    /// Checks that the lengths fit together.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`](crate::core::error::Error::Argument) if they do not.
    fn check(&self) -> Result<()>;
    /// Length of a store's segments.
    fn segment(&self) -> Span;
    /// The unit to which stream time is floored.
    fn unit(&self) -> Span {
        Span(1)
    }
    /// How long windows wait for late records. `None` means for ever, as in batch.
    fn grace(&self) -> Option<Span>;
    /// When windows are emitted.
    fn emit(&self) -> Emit;
    /// The visible part of the store at the times `now`.
    fn horizon(&self, now: StreamTimes) -> Horizon;
    /// The close time `close` closes windows that are due before this.
    fn due_before(&self, close: Time) -> Time {
        close
    }
    /// The id of a stored window with these bounds.
    fn id(window: Window) -> <Self::Entry as StoreEntry>::Id;
    /// The bounds of a stored window.
    fn window(&self, entry: &Self::Entry) -> Window {
        entry.extent().window()
    }
    /// Applies a record to the stored windows of its key.
    fn add<S: States>(
        windows: &mut WindowOperator<Self>,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome>;

    /// Closes the windows that are due before the close time. Drops windows that are hidden for
    /// good.
    fn close<S: States>(
        windows: &mut WindowOperator<Self>,
        now: StreamTimes,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        windows.store.advance(windows.kind.horizon(now));
        let closed = windows.store.close(windows.kind.due_before(now.close));
        windows.emit_finals(&closed, states, out)?;
        let (store, pace) = (&mut windows.store, &mut windows.pace);
        let mut dropped = |entry: Self::Entry| release(entry.slot(), pace.as_mut(), states);
        store.drop_closed(&closed, &mut dropped);
        store.expire(dropped);
        Ok(())
    }

    /// Closes all windows at the end of the input.
    fn finish<S: States>(
        windows: &mut WindowOperator<Self>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let pending = windows.store.pending();
        windows.emit_finals(&pending, states, out)?;
        let pace = &mut windows.pace;
        windows
            .store
            .clear(|entry| release(entry.slot(), pace.as_mut(), states));
        Ok(())
    }
}

/// The windows and the stream time of one stream.
#[derive(Clone, Debug)]
pub struct WindowOperator<K: WindowKind> {
    pub(crate) kind: K,
    pub(crate) store: WindowTable<K::Entry>,
    pub(crate) counters: Counters,
    pub(crate) scratch: K::Scratch,
    /// `None` if changes are emitted at once.
    pub(crate) pace: Option<Pace>,
    pub(super) time: StreamTime,
}

impl<K: WindowKind> WindowOperator<K> {
    /// An operator without windows. `inputs` is 1 except for a cogroup.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`](crate::core::error::Error::Argument) if the lengths do not fit together.
    pub fn new(kind: K, inputs: usize) -> Result<Self> {
        kind.check()?;
        Ok(Self {
            store: WindowTable::new(kind.segment()),
            time: StreamTime::new(inputs, kind.grace(), kind.unit()),
            counters: Counters::default(),
            scratch: K::Scratch::default(),
            pace: None,
            kind,
        })
    }

    /// The stored windows, for queries.
    pub fn store(&self) -> &WindowTable<K::Entry> {
        &self.store
    }

    /// The stored windows, for restoring them.
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

    /// Restores stream time, the close time and the counters of a saved state. The caller restores
    /// the windows through [`Self::store_mut`].
    pub fn resume(
        &mut self,
        progress: impl IntoIterator<Item = Progress>,
        closed: Time,
        counters: Counters,
    ) {
        self.time.resume(progress);
        self.store.resume(closed);
        self.store.advance(self.kind.horizon(self.time.slowest()));
        self.counters = counters;
    }

    /// Closes the windows that are due because the grace is smaller after a restart. Call it before
    /// the records of a batch, so that each window is emitted before it is hidden.
    pub fn catch_up<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.catch_up_time();
        self.close(self.time.slowest(), states, out)
    }

    /// Takes the next record: moves stream time, changes windows and closes those that are due.
    #[cfg(any(test, feature = "bench"))]
    pub fn push<S: States>(
        &mut self,
        record: Record<'_, S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let now = self.admit(&record);
        let outcome = self.add(record, now, states, out)?;
        self.close(self.time.slowest(), states, out)?;
        Ok(outcome)
    }

    /// Takes the next tick: moves time like [`Self::observe_tick`] and closes windows.
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

    /// Moves the time of a source of an input to `time`. Nothing closes.
    pub fn observe(&mut self, input: usize, source: Source, time: Time) {
        self.time.observe(input, source, time);
    }

    /// The same for several sources at once.
    pub fn observe_together(&mut self, seen: impl Iterator<Item = (usize, Source, Time)>) {
        self.time.observe_together(seen);
    }

    /// Computes what closes if time moves from saved progress to `times`, one by one, and then to
    /// `seen`, all at once.
    pub fn closing(
        &self,
        saved: impl IntoIterator<Item = Progress>,
        times: impl Iterator<Item = (usize, Source, Time)>,
        seen: impl Iterator<Item = (usize, Source, Time)>,
    ) -> Closing {
        let mut time = self.time.clone();
        time.resume(saved);
        time.catch_up();
        for (input, source, reached) in times {
            time.observe(input, source, reached);
        }
        time.observe_together(seen);
        let now = time.slowest();
        let pace = self.pace.as_ref();
        Closing {
            due: self.kind.due_before(now.close),
            kept: self.kind.horizon(now).kept,
            emitted: pace.and_then(|pace| last_due(now.time, pace.every())),
        }
    }

    /// Recomputes the close times, because the grace may be smaller after a restart. Nothing
    /// closes.
    pub fn catch_up_time(&mut self) {
        self.time.catch_up();
        self.store.advance(self.kind.horizon(self.time.slowest()));
    }

    /// Counts a tick and moves time. Without an input it moves all inputs; without a source, all
    /// known sources. Nothing closes.
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

    /// Counts a record and moves stream time. Returns the times that judge the record.
    #[inline]
    pub fn admit<R>(&mut self, record: &Record<'_, R>) -> StreamTimes {
        self.observe(record.input, record.source, record.extent.start);
        self.admit_at_start(record)
    }

    /// Like [`Self::admit`], but stream time does not move before it judges the record (rules 1.2).
    #[inline]
    pub fn admit_at_start<R>(&mut self, record: &Record<'_, R>) -> StreamTimes {
        self.counters.records += 1;
        self.counters.clamped_gaps += u64::from(record.is_clamped);
        self.time.now(record.input)
    }

    /// Changes windows by a record that the times `now` judge. Stream time does not move and nothing
    /// closes.
    ///
    /// # Errors
    ///
    /// The errors of `states` and `out`. [`crate::core::error::Error::TimeOverflow`] for a sliding
    /// window that starts before the earliest time.
    pub fn add<S: States>(
        &mut self,
        record: Record<'_, S::Row>,
        now: StreamTimes,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        self.store.advance(self.kind.horizon(now));
        let keyed = KeyedRecord {
            key: self.store.intern(record.name)?,
            extent: record.extent,
            input_close: now.input_close,
            rule: record.rule,
            row: record.row,
        };
        K::add(self, keyed, states, out)
    }

    /// Closes the windows that are due: see [`WindowKind::close`].
    pub fn close<S: States>(
        &mut self,
        now: StreamTimes,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        K::close(self, now, states, out)
    }

    /// Drops every window that is closed and hidden, so that a saved state has none of them.
    pub fn drop_hidden<S: States>(&mut self, states: &mut S) {
        let pace = &mut self.pace;
        self.store
            .drop_hidden(|entry| release(entry.slot(), pace.as_mut(), states));
    }

    /// Closes all windows: see [`WindowKind::finish`].
    pub fn finish<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        K::finish(self, states, out)
    }
}
