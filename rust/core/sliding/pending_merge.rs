//! Adds many records of one key to its sliding windows at once. Changes each window once instead of
//! once per record.
//!
//! All records must arrive in time (rules 2.6). Every window with such a record ends at the
//! record's time or later. So no window refuses it, and none closes before the last of these
//! records arrives.
//!
//! ```text
//!   records, in their order ─▶ sketch: only starts and    ─▶ changed windows, stored;
//!                              largest times of windows      spans of rows, merged once
//! ```
//!
//! New windows are decided record by record; their states follow at the end. A window then has the
//! states of the stored window it derives from, as they were before the batch, and all records of
//! the batch in its bounds. This is correct if each window and its base have the same records of
//! the batch so far. Without refusals they do. After a refusal, a stored window lacks records, and
//! this changes which windows are created. So the sketch checks each new window. If one differs
//! from its base, the key goes record by record.

use std::collections::BTreeMap;

use super::new_window_rules::{Neighbor, Neighbors, NewWindow, around, decide};
use super::plan::Sliding;
use super::sliding_operator::SlidingOperator;
use crate::core::aggregate::RowSpan;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Sink, WindowChange};
use crate::core::store::{StoreKey, WindowEntry};
use crate::core::time::Time;
use crate::core::window::Window;

/// The windows of a key, without states.
struct Sketch {
    sliding: Sliding,
    windows: BTreeMap<Time, SketchWindow>,
    /// The floored times of the records so far, each with its largest full time.
    times: BTreeMap<Time, Time>,
    new_windows: Vec<NewWindow>,
}

/// A window, without the records of the batch.
#[derive(Clone, Copy, Debug)]
struct SketchWindow {
    /// The slot of the stored states that the window starts from. `None` means the identity.
    origin: Option<Slot>,
    /// The largest time of the records in these states.
    largest: Time,
    /// Whether it was stored before the batch.
    stored: bool,
}

/// A changed window whose rows are not merged yet.
#[derive(Debug)]
pub struct PendingMerge {
    /// The slot of its states.
    pub into: Slot,
    /// The rows to merge. Empty if the window only copies another one.
    pub span: RowSpan,
    key: StoreKey,
    change: WindowChange,
}

impl Sketch {
    /// The first and the last floored time of records in a window. Windows do not cross 1970 (rules
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

    /// The full time of the latest record in a range, inclusive.
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

    /// Whether two windows have the same records so far. The second starts later.
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

    /// Adds a record. Returns whether its windows can be created without their states.
    fn add(&mut self, time: Time) -> bool {
        let floored = time.floor(self.sliding.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, self.sliding.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return false;
        };
        let mut new_windows = std::mem::take(&mut self.new_windows);
        decide(floored, own, self, self.sliding, &mut new_windows);
        let fits = new_windows.iter().all(|&new| self.draw(new));
        self.new_windows = new_windows;
        let largest = self.times.entry(floored).or_insert(time);
        *largest = time.max(*largest);
        fits
    }

    /// Creates a window. Returns whether its records are exactly those of its base, or none without
    /// a base.
    fn draw(&mut self, new: NewWindow) -> bool {
        let (NewWindow::Create { start, .. } | NewWindow::Copy { start, .. }) = new;
        let base = match new {
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
    /// Joins records of a key. They are sorted by time, each has its arrival number, and all
    /// arrived in time. They are taken in the order of arrival, or `latest_first`: after a refusal
    /// the order may change which windows are created. Rows of the spans are numbered from `first`.
    /// Returns false, without an effect, if the caller must add the records one by one.
    pub fn join<S: States>(
        &mut self,
        key: StoreKey,
        records: &[(Time, u32)],
        latest_first: bool,
        first: u32,
        states: &mut S,
        pending: &mut Vec<PendingMerge>,
    ) -> Result<bool> {
        let sliding = self.kind.sliding;
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
            new_windows: std::mem::take(&mut self.scratch.1),
        };
        let mut taken = records.to_vec();
        if latest_first {
            taken.reverse();
        } else {
            taken.sort_unstable_by_key(|&(_, row)| row);
        }
        let fits = taken.iter().all(|&(time, _)| sketch.add(time));
        self.scratch.1 = std::mem::take(&mut sketch.new_windows);
        if !fits {
            return Ok(false);
        }
        for (&start, &drawn) in &sketch.windows {
            let (from, to) = sketch.bounds(start);
            let latest = sketch.latest_record(from, to);
            if latest.is_none() && drawn.stored {
                continue;
            }
            let largest = latest.map_or(drawn.largest, |time| time.max(drawn.largest));
            let into = self.store_window(key, start, SketchWindow { largest, ..drawn }, states)?;
            let window = Window::sliding(start, sliding.difference);
            let row = |rows: usize| first + rows as u32;
            let span = RowSpan {
                from: row(floored.partition_point(|&time| time < from)),
                to: row(floored.partition_point(|&time| time <= to)),
            };
            pending.push(PendingMerge {
                into,
                span,
                key,
                change: WindowChange::upsert(window, largest, into, drawn.stored),
            });
        }
        Ok(true)
    }

    /// Stores a window with the states that it starts from. Returns their slot.
    fn store_window<S: States>(
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

    /// Emits the changes after the rows are merged.
    pub fn emit_updates<S: States>(
        &mut self,
        pending: Vec<PendingMerge>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let mut merges = pending.into_iter();
        merges.try_for_each(|merge| self.emit_update(merge.key, merge.change, states, out))
    }
}
