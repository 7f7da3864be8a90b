//! Computes the sliding windows in closed form: KIP-450's two windows per record.
//!
//! ```text
//!   records (d = 10)        1         2              3
//!   ──────────────────────┼─────────┼──────────────┼──────────▶
//!   left of 1    ├──────────┤
//!   left of 2              ├──────────┤
//!   right of 1               ├──────────┤            holds 2
//!   right of 2                          ├─────────── holds 3 only if it is within u + d
//! ```
//! For the distinct times `t1 < ... < tn` of a key, with inclusive bounds and a tick `u`:
//!
//! * left `[ti - d, ti]` for every `i`. If `0 <= ti < d`, Kafka's early window `[0, d]` instead.
//! * right `[ti + u, ti + u + d]` if it contains a record.
//! * a right window and a left window with the same start are one window.
//!
//! Windows do not cross 1970-01-01. Records before it make separate windows (rules 4.2).

use crate::core::aggregate::RowSpan;
use crate::core::error::{Error, Result};
use crate::core::time::{Span, Time};
use crate::core::window::Window;

/// Time difference and resolution, in ticks. The difference is a multiple of the resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// `d`: the length of every window.
    pub difference: Span,
    /// `u`: the distance from a record to the start of its right window.
    pub resolution: Span,
}

/// Selects the windows to plan: windows that end in `[from, until)`.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Windows that end before this were planned earlier.
    pub from: Time,
    /// Windows that end here or later still wait for records. `None` if no more records come.
    pub until: Option<Time>,
}

impl Ends {
    /// All windows.
    pub const ALL: Self = Self {
        from: Time::MIN,
        until: None,
    };

    fn contains(self, end: Time) -> bool {
        end >= self.from && self.until.is_none_or(|until| end < until)
    }
}

/// The error for a record whose window has a bound outside the representable times.
pub(crate) fn beyond_time(record: Time) -> Error {
    Error::TimeOverflow { ticks: record.0 }
}

impl Sliding {
    /// The earliest time of a record that matters to a window that ends at `frontier` or later: the
    /// window contains the record or starts just after it.
    pub fn horizon(&self, frontier: Time) -> Time {
        frontier
            .saturating_sub(self.difference)
            .saturating_sub(self.resolution)
    }

    /// Plans the windows of one key by ascending start. Calls `emit` with each window and its span
    /// of rows.
    ///
    /// `times` are ascending multiples of the resolution. Their rows are numbered from `first`.
    ///
    /// # Errors
    ///
    /// [`Error::TimeOverflow`] if a window has a bound outside the representable times. The errors
    /// of `emit`.
    pub fn plan(
        &self,
        times: &[Time],
        first: u32,
        ends: Ends,
        mut emit: impl FnMut(Window, RowSpan) -> Result<()>,
    ) -> Result<()> {
        let (before, since) = times.split_at(times.partition_point(|&time| time < Time(0)));
        self.plan_side(before, first, false, ends, &mut emit)?;
        self.plan_side(since, first + before.len() as u32, true, ends, &mut emit)
    }

    /// Plans the windows `[t - d, t]` that end at each time `t` of one key, on either side of 1970.
    /// Calls `emit` with each window, its span of rows, and the span of rows at its end.
    pub fn plan_ends(
        &self,
        times: &[Time],
        first: u32,
        ends: Ends,
        mut emit: impl FnMut(Window, RowSpan, RowSpan) -> Result<()>,
    ) -> Result<()> {
        let mut from = Cursor::new(times);
        let mut row = first;
        for at_end in times.chunk_by(|left, right| left == right) {
            let to = row + at_end.len() as u32;
            if let Some(&end) = at_end.first().filter(|&&end| ends.contains(end)) {
                let start = end.checked_sub(self.difference);
                let start = start.ok_or_else(|| beyond_time(end))?;
                from.advance(|time| time < start);
                let span = RowSpan {
                    from: first + from.row,
                    to,
                };
                emit(Window { start, end }, span, RowSpan { from: row, to })?;
            }
            row = to;
        }
        Ok(())
    }

    /// Plans the windows of the records on one side of 1970-01-01.
    fn plan_side(
        &self,
        times: &[Time],
        first: u32,
        early: bool,
        ends: Ends,
        emit: &mut impl FnMut(Window, RowSpan) -> Result<()>,
    ) -> Result<()> {
        // The first left window starts first. If its start is representable, all starts are.
        if let (Some(&earliest), false) = (times.first(), early) {
            earliest
                .checked_sub(self.difference)
                .ok_or_else(|| beyond_time(earliest))?;
        }
        let floor = if early { Time(0) } else { Time::MIN };
        let mut lefts = times
            .iter()
            .map(|&time| time.saturating_sub(self.difference).max(floor));
        let mut rights = self.right_starts(times);
        let (mut left, mut right) = (lefts.next(), rights.next());
        let (mut from, mut to) = (Cursor::new(times), Cursor::new(times));
        while let Some(start) = left.into_iter().chain(right).min() {
            while left == Some(start) {
                left = lefts.next();
            }
            while right == Some(start) {
                right = rights.next();
            }
            // A left window ends at its record. So only a right window can end past the latest
            // time, and it starts one resolution after its record.
            let end = start
                .checked_add(self.difference)
                .ok_or_else(|| beyond_time(start.saturating_sub(self.resolution)))?;
            if ends.contains(end) {
                from.advance(|time| time < start);
                to.advance(|time| time <= end);
                emit(
                    Window { start, end },
                    RowSpan {
                        from: first + from.row,
                        to: first + to.row,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Starts of the right windows that contain a record. No start overflows, because the next
    /// record is not before it.
    fn right_starts(&self, times: &[Time]) -> impl Iterator<Item = Time> {
        times
            .iter()
            .zip(times.iter().skip(1))
            .filter_map(|(&time, &next)| {
                let start = time.saturating_add(self.resolution);
                (time < next && next <= start.saturating_add(self.difference)).then_some(start)
            })
    }
}

/// A position in ascending times. It only moves forward.
pub(super) struct Cursor<'a> {
    times: std::slice::Iter<'a, Time>,
    pub(super) row: u32,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(times: &'a [Time]) -> Self {
        Self {
            times: times.iter(),
            row: 0,
        }
    }

    /// Skips all times for which `before` is true.
    pub(super) fn advance(&mut self, before: impl Fn(Time) -> bool) {
        while self
            .times
            .as_slice()
            .first()
            .is_some_and(|&time| before(time))
        {
            self.times.next();
            self.row += 1;
        }
    }
}
