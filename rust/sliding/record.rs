//! The sliding operator, record by record, as Kafka Streams does it.

use super::rule::Rule;
use super::steps::{Step, around, decide};
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::{Error, Result};
use crate::operator::change::{Change, Emit, Late, Op, Sink};
use crate::operator::counters::Counters;
use crate::operator::record::{Fate, Record};
use crate::operator::stream_time::{Now, Progress, Source, StreamTime};
use crate::store::{Key, WindowEntry, WindowStore};
use crate::time::Time;
use crate::window::{Horizon, Window, starts_closed_before};

/// The sliding windows of one world, and its stream time.
#[derive(Clone, Debug)]
pub struct Slides {
    rule: Rule,
    store: WindowStore,
    time: StreamTime,
    counters: Counters,
    found: Vec<WindowEntry>,
    steps: Vec<Step>,
}

/// A record at work.
#[derive(Clone, Copy)]
struct Arrival<R> {
    key: Key,
    time: Time,
    row: R,
    late: Time,
}

impl Slides {
    /// No windows yet; `inputs` is 1 except for a cogroup.
    pub fn new(rule: Rule, inputs: usize) -> Result<Self> {
        rule.check()?;
        Ok(Self {
            rule,
            store: WindowStore::new(rule.segment()),
            time: StreamTime::new(inputs, rule.grace, rule.resolution),
            counters: Counters::default(),
            found: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// The stored windows, for queries.
    pub fn store(&self) -> &WindowStore {
        &self.store
    }

    /// The stored windows, to restore them.
    pub fn store_mut(&mut self) -> &mut WindowStore {
        &mut self.store
    }

    /// Stream time.
    pub fn time(&self) -> &StreamTime {
        &self.time
    }

    /// Stream time, to move it beside the records or to restore it.
    pub fn time_mut(&mut self) -> &mut StreamTime {
        &mut self.time
    }

    /// Goes on where saved state stopped: stream time, how far windows were closed, what was counted.
    /// The stored windows follow through [`Self::store_mut`].
    pub fn resume(&mut self, progress: impl IntoIterator<Item = Progress>, closed: Time, counters: Counters) {
        self.time.resume(progress);
        self.store.resume(closed);
        self.store.advance(self.horizon(self.time.slowest()));
        self.counters = counters;
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// One record in its order: moves stream time, changes windows, closes what that closes.
    pub fn push<S: States>(&mut self, record: Record<'_, S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<Fate> {
        let Some(name) = record.key else {
            self.counters.null_keys += 1;
            return Ok(Fate::NullKey);
        };
        let Some(time) = record.time else {
            self.counters.null_times += 1;
            return Ok(Fate::NullTime);
        };
        self.time.observe(record.input, record.source, time);
        let key = self.store.intern(name)?;
        let fate = self.add(key, time, record.row, self.time.now(record.input), states, out)?;
        self.close(self.time.slowest(), states, out)?;
        Ok(fate)
    }

    /// A tick in its order: moves the time of one source, or of all known ones, and closes what that closes.
    pub fn tick<S: States>(
        &mut self,
        input: usize,
        source: Option<Source>,
        time: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let Some(time) = time else {
            self.counters.bad_ticks += 1;
            return Ok(());
        };
        self.counters.ticks += 1;
        match source {
            Some(source) => self.time.observe(input, source, time),
            None => self.time.observe_all(input, time),
        }
        self.close(self.time.slowest(), states, out)
    }

    /// One record, judged by `now`. Stream time does not move and nothing closes.
    pub fn add<S: States>(&mut self, key: Key, time: Time, row: S::Row, now: Now, states: &mut S, out: &mut impl Sink<S>) -> Result<Fate> {
        self.counters.records += 1;
        self.store.advance(self.horizon(now));
        let floored = time.floor(self.rule.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, self.rule.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return Err(Error::Overflow {
                column: "window".into(),
                reason: format!("a window around {} starts before the earliest time", time.0),
            });
        };
        let arrival = Arrival { key, time, row, late: now.late };
        let widest = Window::sliding(floored, self.rule.difference);
        let fate = if widest.is_late(now.late) {
            self.counters.late += 1;
            Fate::Late
        } else {
            self.touch(arrival, floored, own, states, out)?;
            Fate::Kept
        };
        if own.is_late(now.late) && self.rule.late == Late::Emit {
            self.alone(arrival, own, states, out)?;
        }
        Ok(fate)
    }

    /// Decides and applies.
    fn touch<S: States>(
        &mut self,
        arrival: Arrival<S::Row>,
        floored: Time,
        own: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (first, last) = around(floored, &self.rule);
        self.found.clear();
        self.found.extend(self.store.within(arrival.key, first..=last).rev());
        let mut steps = std::mem::take(&mut self.steps);
        decide(floored, own, &self.found, &self.rule, &mut steps);
        let applied = self.apply(&steps, arrival, states, out);
        self.steps = steps;
        applied
    }

    fn apply<S: States>(&mut self, steps: &[Step], arrival: Arrival<S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        // What the right window copies is what stood there before this record.
        let copy = steps.iter().find_map(|step| if let Step::Copy { base, .. } = step { Some(*base) } else { None });
        let mut copied = match copy {
            Some(base) => self.copy(arrival.key, base, states)?,
            None => None,
        };
        for &step in steps {
            match step {
                Step::Update(start) => self.update(arrival, start, states, out)?,
                Step::Create { start, base } => self.create(arrival, start, base, states, out)?,
                Step::Copy { start, .. } => {
                    if let Some((slot, largest)) = copied.take() {
                        self.put(arrival.key, WindowEntry { start, largest, slot }, states);
                        self.changed(arrival.key, start, largest, Some(slot), states, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A stored window takes the record, unless it is late.
    fn update<S: States>(&mut self, arrival: Arrival<S::Row>, start: Time, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let window = Window::sliding(start, self.rule.difference);
        if self.refuses(window, arrival.late) {
            return Ok(());
        }
        let Some(entry) = self.store.entry(arrival.key, start) else { return Ok(()) };
        states.update(entry.slot, arrival.row, window)?;
        entry.largest = entry.largest.max(arrival.time);
        let WindowEntry { largest, slot, .. } = *entry;
        if states.is_null(slot) {
            self.store.remove(arrival.key, start);
            states.release(slot);
            return self.changed(arrival.key, start, largest, None, states, out);
        }
        self.changed(arrival.key, start, largest, Some(slot), states, out)
    }

    /// A new window takes the record, unless it is late.
    fn create<S: States>(
        &mut self,
        arrival: Arrival<S::Row>,
        start: Time,
        base: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let window = Window::sliding(start, self.rule.difference);
        if self.refuses(window, arrival.late) {
            return Ok(());
        }
        let base = match base {
            Some(base) => self.copy(arrival.key, base, states)?,
            None => None,
        };
        let slot = match base {
            Some((slot, _)) => slot,
            None => states.allocate()?,
        };
        states.update(slot, arrival.row, window)?;
        if states.is_null(slot) {
            states.release(slot);
            if let Some(old) = self.store.remove(arrival.key, start) {
                states.release(old.slot);
            }
            return self.changed(arrival.key, start, arrival.time, None, states, out);
        }
        self.put(arrival.key, WindowEntry { start, largest: arrival.time, slot }, states);
        self.changed(arrival.key, start, arrival.time, Some(slot), states, out)
    }

    fn refuses(&mut self, window: Window, late: Time) -> bool {
        let refuses = window.is_late(late);
        self.counters.windows_refused += u64::from(refuses);
        refuses
    }

    /// A copy of what a stored window holds, and its largest time.
    fn copy<S: States>(&mut self, key: Key, start: Time, states: &mut S) -> Result<Option<(Slot, Time)>> {
        let Some(&mut WindowEntry { largest, slot, .. }) = self.store.entry(key, start) else { return Ok(None) };
        let copy = states.allocate()?;
        states.copy(copy, slot)?;
        Ok(Some((copy, largest)))
    }

    fn put<S: States>(&mut self, key: Key, entry: WindowEntry, states: &mut S) {
        if let Some(replaced) = self.store.put(key, entry) {
            states.release(replaced.slot);
        }
    }

    fn changed<S: States>(
        &mut self,
        key: Key,
        start: Time,
        time: Time,
        slot: Option<Slot>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        if self.rule.emit != Emit::Update {
            return Ok(());
        }
        self.counters.updates += 1;
        let window = Window::sliding(start, self.rule.difference);
        let op = if slot.is_some() { Op::Upsert } else { Op::Delete };
        out.emit(Change { key, name: self.store.name(key), window, time, op, slot }, states)
    }

    /// A record alone, emitted and not stored.
    fn alone<S: States>(&mut self, arrival: Arrival<S::Row>, window: Window, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.counters.late_emitted += 1;
        let slot = states.allocate()?;
        states.update(slot, arrival.row, window)?;
        let (key, name) = (arrival.key, self.store.name(arrival.key));
        out.emit(Change { key, name, window, time: arrival.time, op: Op::Late, slot: Some(slot) }, states)?;
        states.release(slot);
        Ok(())
    }

    /// Closes the windows that end before the close time, and drops what is hidden for good.
    pub fn close<S: States>(&mut self, now: Now, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.store.advance(self.horizon(now));
        let closed = self.store.close(starts_closed_before(now.close, self.rule.difference));
        self.finals(&closed, states, out)?;
        self.store.expire(|window| states.release(window.slot));
        Ok(())
    }

    /// Closes all windows: the input has ended.
    pub fn finish<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let pending = self.store.pending();
        self.finals(&pending, states, out)?;
        self.store.clear(|window| states.release(window.slot));
        Ok(())
    }

    fn finals<S: States>(&mut self, closed: &[(Key, WindowEntry)], states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.counters.windows_closed += closed.len() as u64;
        if self.rule.emit != Emit::Close {
            return Ok(());
        }
        for &(key, entry) in closed {
            let window = Window::sliding(entry.start, self.rule.difference);
            let (name, slot) = (self.store.name(key), Some(entry.slot));
            out.emit(Change { key, name, window, time: entry.largest, op: Op::Final, slot }, states)?;
        }
        Ok(())
    }

    fn horizon(&self, now: Now) -> Horizon {
        match self.rule.grace {
            Some(_) => Horizon::of_windows(now.time, now.close, self.rule.retention()),
            None => Horizon::OPEN,
        }
    }
}
