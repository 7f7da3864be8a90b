//! A frame: the times before a record that an aggregate covers, as `RANGE BETWEEN` in SQL. It is a
//! part of the window that ends at the record.
//!
//! ```text
//!   window         t - d ├───────────────────────────┤ t
//!   frame                     ├───────────┤
//!                     t - oldest     t - newest             both inclusive
//! ```
//!
//! Times are multiples of the resolution, so an exclusive bound is an inclusive bound one resolution
//! further in. If a frame covers no time, `oldest` is one resolution less than `newest`.

use super::plan::Cursor;
use crate::core::aggregate::RowSpan;
use crate::core::time::{Span, Time};
use crate::core::window::Window;

/// The distances from a record to the first and the last time of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeFrame {
    /// The distance to the first time, at most the length of a window.
    pub(crate) oldest: Span,
    /// The distance to the last time.
    pub(crate) newest: Span,
}

impl RangeFrame {
    /// The first and the last time of the frame of a record at `time`.
    pub(crate) fn times(self, time: Time) -> Window {
        Window {
            start: time.saturating_sub(self.oldest),
            end: time.saturating_sub(self.newest),
        }
    }

    /// Calls `emit` with the rows in the frame of each window. `times` are the ascending times of one
    /// key, whose rows are numbered from `first`. `windows` end at some of them, in order.
    pub(crate) fn spans(
        self,
        times: &[Time],
        first: u32,
        windows: &[Window],
        mut emit: impl FnMut(RowSpan),
    ) {
        let (mut from, mut to) = (Cursor::new(times), Cursor::new(times));
        for window in windows {
            let Window { start, end } = self.times(window.end);
            from.advance(|time| time < start);
            to.advance(|time| time <= end);
            emit(RowSpan {
                from: first + from.row,
                to: first + to.row,
            });
        }
    }
}
