//! Settings of sliding windows.

use super::plan::Sliding;
use crate::core::error::{Error, Result};
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

    /// Checks that the lengths fit together.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a difference or resolution of zero, for a length that is no multiple
    /// of the resolution or too long, and for `retention` below 2 x difference + grace.
    pub fn check(&self) -> Result<()> {
        let Sliding {
            difference,
            resolution,
        } = self.sliding;
        let grace = self.grace.unwrap_or_default();
        let wrong = |argument: &str, got: Span, allowed: String| {
            Err(Error::Argument {
                argument: argument.into(),
                got: got.0.to_string(),
                allowed,
            })
        };
        if i64::try_from(resolution.0).is_err() || resolution == Span(0) {
            return wrong("resolution", resolution, "at least one tick".into());
        }
        if i64::try_from(difference.0).is_err() {
            return wrong(
                "difference",
                difference,
                format!("at most {} ticks", i64::MAX),
            );
        }
        if difference == Span(0) || !difference.0.is_multiple_of(resolution.0) {
            return wrong(
                "difference",
                difference,
                format!("a multiple of the resolution, {}", resolution.0),
            );
        }
        if !grace.0.is_multiple_of(resolution.0) {
            return wrong(
                "grace",
                grace,
                format!("a multiple of the resolution, {}", resolution.0),
            );
        }
        let least = difference.saturating_mul(2).saturating_add(grace);
        match self.until {
            Some(until) if until < least => wrong(
                "retention",
                until,
                format!("at least 2 x difference + grace, {}", least.0),
            ),
            _ => Ok(()),
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

    /// Length of a store's segments. The visible windows span only a few of them.
    pub(crate) fn segment(&self) -> Span {
        if self.grace.is_none() {
            Span(u64::MAX)
        } else {
            Span((self.retention().0 / 8).max(1))
        }
    }
}
