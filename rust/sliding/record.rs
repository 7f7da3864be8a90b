//! The sliding operator, record by record, as Kafka Streams does it.

use super::decide::{Birth, around, decide, is_early};
use super::windows::Rule;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::{Error, Result};
use crate::operator::change::{Emit, Late, Sink};
use crate::operator::record::{Arrival, Effective, Fate};
use crate::operator::stream_time::Now;
use crate::operator::window_operator::{Changed, Kind, World};
use crate::store::{Key, WindowEntry};
use crate::time::{Span, Time};
use crate::window::{Horizon, Window, starts_closed_before};

/// The sliding windows of one world, and its stream time.
pub type Slides = World<Rule>;

impl Kind for Rule {
    type Entry = WindowEntry;
    /// The windows around a record, latest first, and those that it makes.
    type Scratch = (Vec<WindowEntry>, Vec<Birth>);

    fn check(&self) -> Result<()> {
        self.check()
    }

    fn segment(&self) -> Span {
        self.segment()
    }

    fn unit(&self) -> Span {
        self.sliding.resolution
    }

    fn grace(&self) -> Option<Span> {
        self.grace
    }

    fn emit(&self) -> Emit {
        self.emit
    }

    fn horizon(&self, now: Now) -> Horizon {
        match self.grace {
            Some(_) => Horizon::of_windows(now.time, now.close, self.retention(), self.sliding.difference),
            None => Horizon::OPEN,
        }
    }

    /// Sliding windows are due by their start.
    fn due_before(&self, close: Time) -> Time {
        starts_closed_before(close, self.sliding.difference)
    }

    fn window(&self, entry: &WindowEntry) -> Window {
        Window::sliding(entry.start, self.sliding.difference)
    }

    /// There are no gaps.
    fn gap(&self, _own: Option<i64>) -> Effective {
        Effective::Asked(Span(0))
    }

    fn add<S: States>(world: &mut Slides, arrival: Arrival<S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<Fate> {
        let sliding = world.rule.sliding;
        let floored = arrival.time.floor(sliding.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, sliding.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return Err(Error::Overflow {
                column: "window".into(),
                reason: format!("a window around {} starts before the earliest time", arrival.time.0),
            });
        };
        let widest = Window::sliding(floored, sliding.difference);
        let fate = if widest.is_late(arrival.late) {
            world.counters.late += 1;
            Fate::Late
        } else {
            world.touch(arrival, floored, own, states, out)?;
            Fate::Kept
        };
        if own.is_late(arrival.late) && world.rule.late == Late::Emit {
            world.alone(arrival, own, states, out)?;
        }
        Ok(fate)
    }
}

impl Slides {
    /// Decides and applies, in Kafka's order: the windows that are there take the record, then others are made. Only
    /// the early window comes last.
    fn touch<S: States>(
        &mut self,
        arrival: Arrival<S::Row>,
        floored: Time,
        own: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (mut found, mut births) = std::mem::take(&mut self.scratch);
        let (first, last) = around(floored, self.rule.sliding);
        found.clear();
        found.extend(self.store.within(arrival.key, first..=last).rev());
        decide(floored, own, found.as_slice(), self.rule.sliding, &mut births);
        // What the right window copies is what stood there before this record.
        let copy = births.iter().find_map(|birth| if let Birth::Copy { base, .. } = birth { Some(*base) } else { None });
        let copied = copy.map(|base| self.copy(arrival.key, base, states)).transpose()?.flatten();

        let holds = |start: Time| own.start <= start && start <= floored;
        let mut starts = found.iter().map(|window| window.start).filter(|&start| holds(start));
        if is_early(floored, own) {
            let early = found.last().filter(|window| window.start == own.start);
            starts.rev().filter(|&start| start != own.start).try_for_each(|start| self.update(arrival, start, states, out))?;
            self.make(&births, copied, arrival, states, out)?;
            early.map_or(Ok(()), |window| self.update(arrival, window.start, states, out))?;
        } else {
            starts.try_for_each(|start| self.update(arrival, start, states, out))?;
            self.make(&births, copied, arrival, states, out)?;
        }
        self.scratch = (found, births);
        Ok(())
    }

    /// Makes windows; `copied` is what a copying one holds.
    fn make<S: States>(
        &mut self,
        births: &[Birth],
        mut copied: Option<(Slot, Time)>,
        arrival: Arrival<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        for &birth in births {
            match birth {
                Birth::Create { start, base } => self.create(arrival, start, base, states, out)?,
                Birth::Copy { start, .. } => {
                    if let Some((slot, largest)) = copied.take() {
                        let window = Window::sliding(start, self.rule.sliding.difference);
                        let known = self.put(arrival.key, WindowEntry { start, largest, slot }, states);
                        let changed = Changed { key: arrival.key, window, time: largest, slot: Some(slot), known };
                        self.changed(changed, states, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A stored window takes the record, unless it is late.
    fn update<S: States>(&mut self, arrival: Arrival<S::Row>, start: Time, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let window = Window::sliding(start, self.rule.sliding.difference);
        if self.refuses(window, arrival.late) {
            return Ok(());
        }
        let Some(entry) = self.store.entry(arrival.key, start) else { return Ok(()) };
        states.update(entry.slot, arrival.row, window)?;
        entry.largest = entry.largest.max(arrival.time);
        let WindowEntry { largest, slot, .. } = *entry;
        let changed = Changed { key: arrival.key, window, time: largest, slot: Some(slot), known: true };
        if states.is_null(slot) {
            self.store.remove(arrival.key, start);
            states.release(slot);
            return self.changed(Changed { slot: None, ..changed }, states, out);
        }
        self.changed(changed, states, out)
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
        let window = Window::sliding(start, self.rule.sliding.difference);
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
            let old = self.store.remove(arrival.key, start);
            if let Some(old) = &old {
                states.release(old.slot);
            }
            let known = old.is_some();
            return self.changed(Changed { key: arrival.key, window, time: arrival.time, slot: None, known }, states, out);
        }
        let known = self.put(arrival.key, WindowEntry { start, largest: arrival.time, slot }, states);
        self.changed(Changed { key: arrival.key, window, time: arrival.time, slot: Some(slot), known }, states, out)
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

    /// Stores a window; whether one stood in its place.
    pub(super) fn put<S: States>(&mut self, key: Key, entry: WindowEntry, states: &mut S) -> bool {
        let replaced = self.store.put(key, entry);
        if let Some(replaced) = &replaced {
            states.release(replaced.slot);
        }
        replaced.is_some()
    }
}
