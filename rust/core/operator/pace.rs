//! The pace of updates: a window that has changed waits until stream time has moved on from its
//! last emission (rules 6.12).
//!
//! ```text
//!   every 10      stream time   0      4        10     14        20        27
//!                 record        x      x               x
//!                 leaves        first           second           third
//! ```
//!
//! What waits is in the state already. In addition, a window only has the time of its last emission
//! and, while it waits, the windows that a sink has in its place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::change::WindowChange;
use super::shown_windows::ShownWindows;
use crate::core::aggregate::slot::{PerSlot, Slot};
use crate::core::aggregate::states::States;
use crate::core::store::StoreKey;
use crate::core::time::{Span, Time};
use crate::core::window::Window;

/// The last emission of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Stream time then. The earliest time if there was none.
    pub time: Time,
    /// The windows that a sink has in place of this one. `None` if nothing waits: a sink has this
    /// window.
    pub replaced: Option<ShownWindows>,
}

/// Before the first emission.
pub static NEVER: Emission = Emission {
    time: Time::MIN,
    replaced: Some(ShownWindows::None),
};

impl Emission {
    /// An emission at stream time `now`. Nothing waits.
    pub fn at(now: Option<Time>) -> Self {
        Self {
            time: now.unwrap_or(Time::MIN),
            replaced: None,
        }
    }

    /// The emission of a window that changes now. `window` are its bounds before the change.
    pub fn changed(self, window: Window) -> Self {
        Self {
            replaced: Some(self.replaced.unwrap_or(ShownWindows::One(window))),
            ..self
        }
    }

    /// The emission of a merged session, whose pace counts from the latest emission of its parts.
    pub fn merged(self, other: Self) -> Self {
        let mut replaced = self.replaced.unwrap_or_default();
        let others = other.replaced.unwrap_or_default();
        replaced.extend(others.as_slice().iter().copied());
        Self {
            time: self.time.max(other.time),
            replaced: Some(replaced),
        }
    }

    /// When the last emission was, if something waits.
    pub fn waiting(&self) -> Option<Time> {
        self.replaced.as_ref().map(|_| self.time)
    }
}

/// What was emitted at this time or before may be emitted again. `None` if nothing may, because
/// there is no stream time.
pub fn last_due(now: Option<Time>, every: Span) -> Option<Time> {
    now.map(|now| now.saturating_sub(every))
}

/// A window that leaves, and the windows that it replaces.
#[derive(Debug)]
pub(super) struct Leaving {
    pub key: StoreKey,
    pub upsert: WindowChange,
    pub deletes: ShownWindows,
}

/// A stored window.
#[derive(Clone, Debug)]
struct PacedWindow {
    key: StoreKey,
    upsert: WindowChange,
    /// `None` if it was never emitted.
    emission: Option<Emission>,
    /// Whether it is in [`Pace::changed`].
    has_changed: bool,
    /// Whether it is in [`Pace::waiting`].
    is_queued: bool,
}

impl PacedWindow {
    /// Takes out what leaves at stream time `now`. `None` if nothing waits.
    fn leave(&mut self, now: Option<Time>) -> Option<Leaving> {
        let replaced = match &mut self.emission {
            None => ShownWindows::None,
            Some(emission) => emission.replaced.take()?,
        };
        self.emission = Some(Emission::at(now));
        let window = self.upsert.window;
        Some(Leaving {
            key: self.key,
            upsert: self.upsert,
            deletes: replaced.without(window),
        })
    }
}

/// The last emissions of all stored windows, by the slots of their states.
#[derive(Clone, Debug)]
pub struct Pace {
    every: Span,
    windows: PerSlot<Option<PacedWindow>>,
    /// The windows that have changed since [`Self::leaving`], and slots that were released since.
    changed: Vec<Slot>,
    /// The windows that wait, by the time of an emission that is not later than their last one.
    waiting: BinaryHeap<Reverse<(Time, Slot)>>,
}

impl Pace {
    /// No windows yet.
    pub fn new(every: Span) -> Self {
        Self {
            every,
            windows: PerSlot::default(),
            changed: Vec::new(),
            waiting: BinaryHeap::new(),
        }
    }

    /// How far stream time moves between two emissions of a window, at least.
    pub fn every(&self) -> Span {
        self.every
    }

    /// The last emissions of stored windows, after a micro-batch.
    pub fn emissions(
        &self,
        slots: impl ExactSizeIterator<Item = Slot> + Clone,
    ) -> impl ExactSizeIterator<Item = &Emission> + Clone {
        slots.map(|slot| self.emission(slot))
    }

    /// The last emission of a stored window, after a micro-batch.
    pub fn emission(&self, slot: Slot) -> &Emission {
        let window = self.windows.0.get(slot.0 as usize);
        let emission = window.and_then(|window| window.as_ref()?.emission.as_ref());
        emission.unwrap_or(&NEVER)
    }

    fn set(&mut self, slot: Slot, window: PacedWindow) {
        let place = slot.0 as usize;
        if self.windows.0.len() <= place {
            self.windows.resize(place + 1, None);
        }
        self.windows[slot] = Some(window);
    }

    fn take(&mut self, slot: Slot) -> Option<PacedWindow> {
        self.windows.0.get_mut(slot.0 as usize)?.take()
    }

    /// Restores the last emission of a saved window.
    pub fn restore(&mut self, key: StoreKey, upsert: WindowChange, emission: Emission) {
        let Some(slot) = upsert.slot else { return };
        let waiting = emission.waiting();
        let window = PacedWindow {
            key,
            upsert,
            emission: Some(emission),
            has_changed: false,
            is_queued: waiting.is_some(),
        };
        self.set(slot, window);
        self.waiting
            .extend(waiting.map(|time| Reverse((time, slot))));
    }

    /// Notes that a window is new or has changed.
    pub(crate) fn change(&mut self, key: StoreKey, upsert: WindowChange) {
        let Some(slot) = upsert.slot else { return };
        match self.windows.0.get_mut(slot.0 as usize) {
            Some(Some(window)) => {
                let before = window.upsert.window;
                let emission = window.emission.take();
                window.emission = emission.map(|emission| emission.changed(before));
                window.upsert = upsert;
                if std::mem::replace(&mut window.has_changed, true) {
                    return;
                }
            }
            _ => {
                let window = PacedWindow {
                    key,
                    upsert,
                    emission: None,
                    has_changed: true,
                    is_queued: false,
                };
                self.set(slot, window);
            }
        }
        self.changed.push(slot);
    }

    /// Notes that the windows of some slots became one window, whose states are in `into`.
    pub(crate) fn merge(&mut self, slots: impl IntoIterator<Item = Slot>, into: Slot) {
        let mut whole: Option<PacedWindow> = None;
        for slot in slots {
            let Some(mut part) = self.take(slot) else {
                continue;
            };
            let emission = part.emission.take();
            let emission = emission.map(|emission| emission.changed(part.upsert.window));
            if slot != into {
                (part.has_changed, part.is_queued) = (false, false);
            }
            let whole = whole.get_or_insert(PacedWindow {
                has_changed: false,
                is_queued: false,
                ..part.clone()
            });
            whole.has_changed |= part.has_changed;
            whole.is_queued |= part.is_queued;
            whole.emission = match (whole.emission.take(), emission) {
                (Some(emission), Some(other)) => Some(emission.merged(other)),
                (emission, other) => emission.or(other),
            };
        }
        if let Some(whole) = whole {
            self.set(into, whole);
        }
    }

    /// Forgets a window. Returns the windows that a sink has in its place.
    pub(crate) fn remove(&mut self, slot: Slot) -> ShownWindows {
        let Some(window) = self.take(slot) else {
            return ShownWindows::None;
        };
        let emission = window.emission;
        let shown = emission.map(|emission| emission.changed(window.upsert.window));
        shown.and_then(|shown| shown.replaced).unwrap_or_default()
    }

    /// Takes out what waits of the windows of some slots, which close at stream time `now`.
    pub(super) fn closing(
        &mut self,
        slots: impl Iterator<Item = Slot>,
        now: Option<Time>,
    ) -> Vec<Leaving> {
        let leave = |slot: Slot| {
            let window = self.windows.0.get_mut(slot.0 as usize)?.as_mut()?;
            window.leave(now)
        };
        slots.filter_map(leave).collect()
    }

    /// Takes out what leaves at stream time `now`, at the end of a micro-batch.
    pub(super) fn leaving(&mut self, now: Option<Time>) -> Vec<Leaving> {
        let due = last_due(now, self.every);
        let mut leaving = Vec::new();
        for slot in std::mem::take(&mut self.changed) {
            let window = self.windows.0.get_mut(slot.0 as usize);
            let Some(Some(window)) = window else { continue };
            if !std::mem::take(&mut window.has_changed) {
                continue;
            }
            match window.emission.as_ref().map(Emission::waiting) {
                Some(Some(time)) if due.is_none_or(|due| time > due) => {
                    if !std::mem::replace(&mut window.is_queued, true) {
                        self.waiting.push(Reverse((time, slot)));
                    }
                }
                _ => leaving.extend(window.leave(now)),
            }
        }
        while let Some(&Reverse((time, slot))) = self.waiting.peek()
            && due.is_some_and(|due| time <= due)
        {
            self.waiting.pop();
            let window = self.windows.0.get_mut(slot.0 as usize);
            let Some(Some(window)) = window else { continue };
            let Some(own) = window.emission.as_ref().and_then(Emission::waiting) else {
                window.is_queued = false;
                continue;
            };
            if due.is_some_and(|due| own <= due) {
                window.is_queued = false;
                leaving.extend(window.leave(now));
            } else {
                // It was merged with a session that was emitted later.
                self.waiting.push(Reverse((own, slot)));
            }
        }
        leaving
    }
}

/// Releases the slot of a window that is no longer stored.
pub(super) fn release<S: States>(slot: Slot, pace: Option<&mut Pace>, states: &mut S) {
    if let Some(pace) = pace {
        pace.remove(slot);
    }
    states.release(slot);
}
