//! Decides which windows a record creates, from the windows around it. Nothing here has an effect.
//!
//! `new_windows` has Kafka's order of emission. Whether a new window still takes the record is
//! checked later, for each window on its own (rules 4.3).

use super::plan::Sliding;
use crate::core::store::WindowEntry;
use crate::core::time::{Span, Time};
use crate::core::window::Window;

/// A window that a record creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewWindow {
    /// It has the record and the records of another window.
    Create {
        /// Its start.
        start: Time,
        /// The start of the other window. `None` if the new window has only the record.
        base: Option<Time>,
    },
    /// It has the records of another window, without this record.
    Copy {
        /// Its start.
        start: Time,
        /// The start of the other window.
        base: Time,
    },
}

/// An existing window near a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbor {
    /// Its start.
    pub start: Time,
    /// The largest time of its records.
    pub largest: Time,
}

/// The windows of a key.
pub(crate) trait Neighbors {
    /// The latest window that starts in a range, inclusive.
    fn latest(&self, from: Time, to: Time) -> Option<Neighbor>;
}

/// The windows must be sorted, latest first.
impl Neighbors for [WindowEntry] {
    fn latest(&self, from: Time, to: Time) -> Option<Neighbor> {
        let position = self.partition_point(|window| window.start > to);
        let found = self.get(position).filter(|window| window.start >= from)?;
        Some(Neighbor {
            start: found.start,
            largest: found.largest,
        })
    }
}

/// The range of starts, inclusive, of the windows that matter to a record at the floored `time`.
/// Windows do not cross 1970 (rules 4.2).
pub(crate) fn around(time: Time, sliding: Sliding) -> (Time, Time) {
    let (first, last) = (
        time.saturating_sub(sliding.difference.saturating_mul(2)),
        time.saturating_add(sliding.resolution),
    );
    if time >= Time(0) {
        (first.max(Time(0)), last)
    } else {
        (first, last.min(Time(-1)))
    }
}

/// Decides which windows a record at the floored `time` creates. `own` is the record's left or
/// early window. The record also joins all windows that start between the start of `own` and
/// `time`.
pub(crate) fn decide<A: Neighbors + ?Sized>(
    time: Time,
    own: Window,
    found: &A,
    sliding: Sliding,
    new_windows: &mut Vec<NewWindow>,
) {
    new_windows.clear();
    let near = Near {
        time,
        own,
        found,
        sliding,
    };
    if is_early(time, own) {
        near.early(new_windows)
    } else {
        near.main(new_windows)
    }
}

/// Whether `own` is Kafka's early window and ends after the record.
pub(crate) fn is_early(time: Time, own: Window) -> bool {
    time >= Time(0) && own.start == Time(0) && own.end > time
}

/// A record and the windows around it.
struct Near<'a, A: ?Sized> {
    time: Time,
    own: Window,
    found: &'a A,
    sliding: Sliding,
}

impl<A: Neighbors + ?Sized> Near<'_, A> {
    /// ```text
    ///   left of `own`    own.start                time
    ///   ├────x─────p──────┤  ╎                     ╎
    ///                        ├─── own, left ───────t
    ///               ├ p's right ─────┤             ╎
    ///                           ├── covers it ─────────x──┤
    ///                                               ├── its right ───────┤
    /// ```
    fn main(&self, new_windows: &mut Vec<NewWindow>) {
        let start = self.own.start;
        let own = self.found.latest(start, start);
        if own.is_some_and(|own| self.largest(own) >= self.time) {
            return;
        }
        let (first, _) = around(self.time, self.sliding);
        let left = start
            .checked_sub(Span(1))
            .and_then(|last| self.found.latest(first, last));
        let previous = left.or(own).map(|window| self.largest(window));
        new_windows.extend(
            self.after(
                previous.filter(|&previous| {
                    self.right_of(previous).is_some_and(|right| right >= start)
                }),
            ),
        );
        if own.is_none() {
            let base = left
                .filter(|&left| self.largest(left) >= start)
                .map(|left| left.start);
            new_windows.push(NewWindow::Create { start, base });
        }
        let covering = start
            .checked_add(Span(1))
            .and_then(|first| self.found.latest(first, self.time));
        new_windows.extend(self.right(covering));
    }

    /// ```text
    ///   0          time       difference
    ///   ├───p────────t──────x─────┤ own: holds all early records
    ///        ├ p's right ─────────────┤
    ///                 ├── its right ───────────┤
    /// ```
    fn early(&self, new_windows: &mut Vec<NewWindow>) {
        let own = self.found.latest(Time(0), Time(0));
        new_windows.extend(self.right(self.found.latest(Time(0), self.time)));
        new_windows.extend(
            self.after(
                own.map(|own| self.largest(own))
                    .filter(|&previous| previous < self.time),
            ),
        );
        if own.is_none() {
            new_windows.push(NewWindow::Create {
                start: Time(0),
                base: None,
            });
        }
    }

    /// The right window of the previous record, unless it exists.
    fn after(&self, previous: Option<Time>) -> Option<NewWindow> {
        let start = previous.and_then(|previous| self.right_of(previous))?;
        self.found
            .latest(start, start)
            .is_none()
            .then_some(NewWindow::Create { start, base: None })
    }

    /// The record's own right window. Its records are the later records of `covering`, the latest
    /// window around the record.
    fn right(&self, covering: Option<Neighbor>) -> Option<NewWindow> {
        let base = covering
            .filter(|&covering| self.largest(covering) > self.time)?
            .start;
        let start = self.right_of(self.time)?;
        self.found
            .latest(start, start)
            .is_none()
            .then_some(NewWindow::Copy { start, base })
    }

    /// The largest record time of a window, floored.
    fn largest(&self, window: Neighbor) -> Time {
        window
            .largest
            .floor(self.sliding.resolution)
            .unwrap_or(Time::MIN)
    }

    /// The start of a record's right window.
    fn right_of(&self, time: Time) -> Option<Time> {
        time.checked_add(self.sliding.resolution)
    }
}
