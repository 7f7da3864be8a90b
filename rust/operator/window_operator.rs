//! One world of windows: what is stored, stream time and counters, and the way of a record through
//! them.
//!
//! ```text
//!   record ─▶ admit ────────▶ add ──────────────▶ close
//!             counts it,      the kind of windows  windows due before the close
//!             moves time      decides and applies  time are final, hidden ones go
//! ```
//!
//! What differs between sessions and sliding windows is their [`WindowKind`].

use super::change::{Change, Emit, Op, Sink};
use super::counters::Counters;
use super::record::{Effective, Fate, KeyedRecord, Record};
use super::stream_time::{Now, Progress, Source, StreamTime};
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::store::{Entry, StoreKey, WindowTable};
use crate::time::{Span, Time};
use crate::window::{Horizon, Window};

/// A kind of windows, as the user asked for it.
pub trait WindowKind: Sized {
    /// A stored window.
    type Entry: Entry;
    /// What [`Self::add`] uses again from record to record.
    type Scratch: Default;

    /// Whether the lengths fit together.
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
    fn horizon(&self, now: Now) -> Horizon;
    /// Windows due before this are closed at a close time.
    fn due_before(&self, close: Time) -> Time;
    /// The bounds of a stored window.
    fn window(&self, entry: &Self::Entry) -> Window;
    /// A record's gap in effect, of what its gap column holds.
    fn gap(&self, own: Option<i64>) -> Effective;
    /// What a record does to the stored windows of its key.
    fn add<S: States>(
        windows: &mut WindowOperator<Self>,
        seq_no: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate>;
}

/// The windows of one world, and its stream time.
#[derive(Clone, Debug)]
pub struct WindowOperator<K: WindowKind> {
    pub(crate) windows: K,
    pub(crate) store: WindowTable<K::Entry>,
    pub(crate) counters: Counters,
    pub(crate) scratch: K::Scratch,
    time: StreamTime,
}

/// A record that has been counted and has moved stream time.
#[derive(Clone, Copy, Debug)]
pub struct AdmittedRecord<'a, R> {
    /// Its key.
    pub name: &'a [u8],
    /// Its time.
    pub time: Time,
    /// Its gap in effect.
    pub gap: Span,
    /// What it is judged by.
    pub now: Now,
    /// What the states are updated from.
    pub row: R,
}

impl<R> AdmittedRecord<'_, R> {
    /// Whether it is before the close time of its input: it may be late, or meet a closed window
    /// (rules 2.6).
    pub fn is_behind(&self) -> bool {
        self.time < self.now.late
    }
}

impl<K: WindowKind> WindowOperator<K> {
    /// No windows yet; `inputs` is 1 except for a cogroup.
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

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Goes on where saved state stopped: stream time, how far windows were closed, what was
    /// counted. The stored windows follow through [`Self::store_mut`].
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

    /// Closes what a grace that is smaller than before a restart closes: before the records of a
    /// batch, as all that closes is emitted once and not hidden before.
    pub fn catch_up<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.time.catch_up();
        self.close(self.time.slowest(), states, out)
    }

    /// One record in its order: moves stream time, changes windows, closes what that closes.
    pub fn push<S: States>(
        &mut self,
        record: Record<'_, S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate> {
        let fate = match self.admit(record) {
            Ok(admitted) => self.add(admitted, states, out)?,
            Err(fate) => return Ok(fate),
        };
        self.close(self.time.slowest(), states, out)?;
        Ok(fate)
    }

    /// A tick in its order: moves time as [`Self::hear`] does, and closes what that closes.
    pub fn tick<S: States>(
        &mut self,
        input: Option<usize>,
        source: Option<Source>,
        time: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.hear(input, source, time);
        self.close(self.time.slowest(), states, out)
    }

    /// Counts a record and moves stream time, unless it has no key, no time or a bad gap.
    #[inline]
    pub fn admit<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<AdmittedRecord<'a, R>, Fate> {
        let Some(name) = record.key else {
            self.counters.null_keys += 1;
            return Err(Fate::NullKey);
        };
        let Some(time) = record.time else {
            self.counters.null_times += 1;
            return Err(Fate::NullTime);
        };
        let gap = match self.windows.gap(record.gap) {
            Effective::StoreQuery(gap) => gap,
            Effective::Clamped(gap) => {
                self.counters.clamped_gaps += 1;
                gap
            }
            Effective::Bad => {
                self.counters.bad_gaps += 1;
                return Err(Fate::BadGap);
            }
        };
        self.counters.records += 1;
        self.time.observe(record.input, record.source, time);
        Ok(AdmittedRecord {
            name,
            time,
            gap,
            now: self.time.now(record.input),
            row: record.row,
        })
    }

    /// Counts a tick and moves the time of one input or of all, of one source or of all known ones.
    /// Nothing closes.
    pub fn hear(&mut self, input: Option<usize>, source: Option<Source>, time: Option<Time>) {
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

    /// What an admitted record does, judged by its own time. Stream time does not move and nothing
    /// closes.
    pub fn add<S: States>(
        &mut self,
        record: AdmittedRecord<'_, S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate> {
        let AdmittedRecord {
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

    /// Closes the windows due before the close time, and drops what is hidden for good.
    pub fn close<S: States>(
        &mut self,
        now: Now,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.store.advance(self.windows.horizon(now));
        let closed = self.store.close(self.windows.due_before(now.close));
        self.finals(&closed, states, out)?;
        self.store.expire(|entry| states.release(entry.slot()));
        Ok(())
    }

    /// Closes all windows: the input has ended.
    pub fn finish<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let pending = self.store.pending();
        self.finals(&pending, states, out)?;
        self.store.clear(|entry| states.release(entry.slot()));
        Ok(())
    }

    fn finals<S: States>(
        &mut self,
        closed: &[(StoreKey, K::Entry)],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.windows_closed += closed.len() as u64;
        if self.windows.emit() != Emit::Close {
            return Ok(());
        }
        for (key, entry) in closed {
            let (name, slot) = (self.store.name(*key), Some(entry.slot()));
            let (window, time) = (self.windows.window(entry), entry.largest());
            out.emit(
                Change {
                    key: *key,
                    name,
                    window,
                    time,
                    op: Op::Final,
                    slot,
                    known: true,
                },
                states,
            )?;
        }
        Ok(())
    }

    /// A window has a new value, or with no slot is no more.
    pub(crate) fn changed<S: States>(
        &mut self,
        changed: Changed,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        if self.windows.emit() != Emit::Update {
            return Ok(());
        }
        let Changed {
            key,
            window,
            time,
            slot,
            known,
        } = changed;
        let op = if slot.is_some() {
            Op::Upsert
        } else {
            Op::Delete
        };
        out.emit(
            Change {
                key,
                name: self.store.name(key),
                window,
                time,
                op,
                slot,
                known,
            },
            states,
        )
    }

    /// A late record alone, emitted and not stored.
    pub(crate) fn alone<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        window: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.late_emitted += 1;
        let slot = states.allocate()?;
        states.update(slot, seq_no.row, window)?;
        let KeyedRecord { key, time, .. } = seq_no;
        out.emit(
            Change {
                key,
                name: self.store.name(key),
                window,
                time,
                op: Op::Late,
                slot: Some(slot),
                known: false,
            },
            states,
        )?;
        states.release(slot);
        Ok(())
    }
}

/// A window that has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    pub key: StoreKey,
    pub window: Window,
    /// The largest time of its records.
    pub time: Time,
    /// Where its states stand; none where it is no more.
    pub slot: Option<Slot>,
    /// Whether it stood in the store before.
    pub known: bool,
}
