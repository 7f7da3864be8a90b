//! Settings of sliding windows.

use super::plan::Sliding;
use crate::core::operator::change::{Emit, Late};
use crate::core::time::Span;

/// A sliding query. Lengths are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindows {
    /// Time difference and resolution. Times are floored to the resolution.
    pub sliding: Sliding,
    /// How long windows wait for late records. `None` means for ever, as in batch.
    pub grace: Option<Span>,
    /// The least time for which closed windows stay visible.
    pub until: Option<Span>,
    /// When windows are emitted.
    pub emit: Emit,
    /// What happens to late records.
    pub late: Late,
    /// Whether the query returns records with the windows that end at them. The store then has the
    /// times of records instead of windows (`ending_windows.rs`).
    pub returns_records: bool,
}

impl SlidingWindows {
    /// Windows with a time difference and a resolution of one tick. By default, emits only finals
    /// and drops late records.
    #[cfg(any(test, feature = "bench"))]
    pub fn with_difference(difference: Span, grace: Option<Span>) -> Self {
        let sliding = Sliding {
            difference,
            resolution: Span(1),
        };
        Self {
            sliding,
            grace,
            until: None,
            emit: Emit::Close,
            late: Late::Drop,
            returns_records: false,
        }
    }

    /// How long a window is visible after its start. During this time, a record that is not late
    /// can touch the window or read its records (rules 4.4).
    pub fn retention(&self) -> Span {
        let Sliding {
            difference,
            resolution,
        } = self.sliding;
        let needed = difference
            .saturating_mul(3)
            .saturating_add(self.grace.unwrap_or_default());
        needed
            .saturating_add(resolution)
            .max(self.until.unwrap_or_default())
    }
}
