//! Many records of one key into its sliding windows at once: each window is changed once, not once
//! for each record.
//!
//! Only for records that are not behind when they arrive (rules 2.6): every window that holds such
//! a record ends at its time or later, so none refuses it, and none is closed before the last of
//! these records has come.
//!
//! ```text
//!   records, in their order ─▶ sketch: windows by starts and largest times alone ─▶ changed windows, stored
//!                                                                                   runs of rows, merged once
//! ```
//!
//! What a record makes is decided as record by record. The states wait: a window holds in the end
//! what the stored window it goes back to held before the batch, and all records of the batch in
//! its bounds. That is so where no window was made from another one that differs in the records of
//! the batch it held so far. Without refusals none is. What a stored window lacks after a refusal
//! decides what is made, so there each birth is looked at instead of reasoned about: a key with one
//! that does not fit goes record by record.

use std::collections::BTreeMap;

use super::decide::{Neighbor, Neighbors, NewWindow, around, decide};
use super::plan::Sliding;
use super::record::SlidingOperator;
use crate::aggregate::Run;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::Sink;
use crate::operator::window_operator::Changed;
use crate::store::{StoreKey, WindowEntry};
use crate::time::Time;
use crate::window::Window;

/// The windows of a key as records find and make them.
struct Sketch {
    sliding: Sliding,
    windows: BTreeMap<Time, SketchWindow>,
    /// The times of the records so far, floored, with the largest full time of each.
    times: BTreeMap<Time, Time>,
    births: Vec<NewWindow>,
}

/// A window, without the records of the batch.
#[derive(Clone, Copy, Debug)]
struct SketchWindow {
    /// Where the states stand that it starts from; none: it starts from nothing.
    origin: Option<Slot>,
    /// The largest time of what it starts from.
    largest: Time,
    /// Whether it was stored before the batch.
    stored: bool,
}

/// A window that has changed.
#[derive(Debug)]
pub struct PendingMerge {
    /// Where its states stand.
    pub into: Slot,
    /// The rows that are still to be merged into it; none where it only copies another window.
    pub run: Run,
    changed: Changed,
}

impl Sketch {
    /// The times, floored, of the records that a window may hold: windows do not cross 1970 (rules
    /// 4.2).
    fn bounds(&self, start: Time) -> (Time, Time) {
        let end = Window::sliding(start, self.sliding.difference).end;
        (
            start,
            if start < Time(0) {
                end.min(Time(-1))
            } else {
                end
            },
        )
    }

    /// The full time of the latest record in a range, both bounds inclusive.
    fn latest_record(&self, from: Time, to: Time) -> Option<Time> {
        if from > to {
            None
        } else {
            self.times
                .range(from..=to)
                .next_back()
                .map(|(_, &time)| time)
        }
    }

    /// Whether two windows hold the same of the records so far; the second starts later.
    fn agree(&self, first: Time, second: Time) -> bool {
        let ((_, first_end), (_, second_end)) = (self.bounds(first), self.bounds(second));
        let before = second
            .0
            .checked_sub(1)
            .and_then(|last| self.latest_record(first, Time(last)));
        let after = first_end
            .0
            .checked_add(1)
            .and_then(|next| self.latest_record(second.max(Time(next)), second_end));
        before.is_none() && after.is_none()
    }

    /// Takes a record; whether its windows are such as they can be told without their states.
    fn take(&mut self, time: Time) -> bool {
        let floored = time.floor(self.sliding.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, self.sliding.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return false;
        };
        let mut births = std::mem::take(&mut self.births);
        decide(floored, own, self, self.sliding, &mut births);
        let told = births.iter().all(|&birth| self.draw(birth));
        self.births = births;
        let largest = self.times.entry(floored).or_insert(time);
        *largest = time.max(*largest);
        told
    }

    fn draw(&mut self, birth: NewWindow) -> bool {
        let (NewWindow::Create { start, .. } | NewWindow::Copy { start, .. }) = birth;
        let base = match birth {
            NewWindow::Create { base, .. } => base,
            NewWindow::Copy { base, .. } => Some(base),
        };
        let Some(base) = base else {
            let (from, to) = self.bounds(start);
            self.windows.insert(
                start,
                SketchWindow {
                    origin: None,
                    largest: Time::MIN,
                    stored: false,
                },
            );
            return self.latest_record(from, to).is_none();
        };
        let Some(&drawn) = self.windows.get(&base) else {
            return false;
        };
        self.windows.insert(
            start,
            SketchWindow {
                stored: false,
                ..drawn
            },
        );
        self.agree(base, start)
    }
}

impl Neighbors for Sketch {
    fn latest(&self, from: Time, to: Time) -> Option<Neighbor> {
        let (&start, drawn) = if from > to {
            None
        } else {
            self.windows.range(from..=to).next_back()
        }?;
        let (first, last) = self.bounds(start);
        let largest = self
            .latest_record(first, last)
            .map_or(drawn.largest, |time| time.max(drawn.largest));
        Some(Neighbor { start, largest })
    }
}

impl SlidingOperator {
    /// Takes records of a key, each with its place in the order of arrival, sorted by time; none of
    /// them is behind. The rows of the runs are numbered from `first`. False, and nothing is done,
    /// where they are to be taken one by one.
    pub fn join<S: States>(
        &mut self,
        key: StoreKey,
        records: &[(Time, u32)],
        first: u32,
        states: &mut S,
        taking: &mut Vec<PendingMerge>,
    ) -> Result<bool> {
        let sliding = self.windows.sliding;
        let floored: Option<Vec<Time>> = records
            .iter()
            .map(|(time, _)| time.floor(sliding.resolution))
            .collect();
        let floored = floored.unwrap_or_default();
        let (Some(&least), Some(&most)) = (floored.first(), floored.last()) else {
            return Ok(false);
        };

        let ((from, _), (_, to)) = (around(least, sliding), around(most, sliding));
        let drawn = |entry: &WindowEntry| SketchWindow {
            origin: Some(entry.slot),
            largest: entry.largest,
            stored: true,
        };
        let windows = self
            .store
            .within(key, from..=to)
            .map(|entry| (entry.start, drawn(entry)))
            .collect();
        let mut sketch = Sketch {
            sliding,
            windows,
            times: BTreeMap::new(),
            births: std::mem::take(&mut self.scratch.1),
        };
        let mut arrived = records.to_vec();
        arrived.sort_unstable_by_key(|&(_, row)| row);
        let told = arrived.iter().all(|&(time, _)| sketch.take(time));
        self.scratch.1 = std::mem::take(&mut sketch.births);
        if !told {
            return Ok(false);
        }
        for (&start, &drawn) in &sketch.windows {
            let (from, to) = sketch.bounds(start);
            let latest = sketch.latest_record(from, to);
            if latest.is_none() && drawn.stored {
                continue;
            }
            let largest = latest.map_or(drawn.largest, |time| time.max(drawn.largest));
            let into = self.hold(key, start, SketchWindow { largest, ..drawn }, states)?;
            let window = Window::sliding(start, sliding.difference);
            let row = |rows: usize| first + rows as u32;
            let run = Run {
                from: row(floored.partition_point(|&time| time < from)),
                to: row(floored.partition_point(|&time| time <= to)),
            };
            let changed = Changed {
                key,
                window,
                time: largest,
                slot: Some(into),
                known: drawn.stored,
            };
            taking.push(PendingMerge { into, run, changed });
        }
        Ok(true)
    }

    /// Stores a window with what it starts from; where its states stand.
    fn hold<S: States>(
        &mut self,
        key: StoreKey,
        start: Time,
        drawn: SketchWindow,
        states: &mut S,
    ) -> Result<Slot> {
        let SketchWindow {
            origin,
            largest,
            stored,
        } = drawn;
        if let (true, Some(slot), Some(entry)) = (stored, origin, self.store.entry(key, start)) {
            entry.largest = largest;
            return Ok(slot);
        }
        let slot = states.allocate()?;
        if let Some(origin) = origin {
            states.copy(slot, origin)?;
        }
        self.put(
            key,
            WindowEntry {
                start,
                largest,
                slot,
            },
            states,
        );
        Ok(slot)
    }

    /// Emits what has changed, once the rows are merged.
    pub fn tell<S: States>(
        &mut self,
        taking: Vec<PendingMerge>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        taking
            .into_iter()
            .try_for_each(|taking| self.changed(taking.changed, states, out))
    }
}
