//! The frame of an aggregate as the user wrote it.

use arrow_schema::TimeUnit;
use serde::{Deserialize, Serialize};

use super::window_lengths::{WindowLengths, to_exact_ticks};
use crate::core::error::{Error, Result};
use crate::core::sliding::frame::RangeFrame;
use crate::core::sliding::plan::Sliding;
use crate::core::time::Span;

/// The times from `t - delay - difference` to `t - delay` of a record at `t`, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSpec {
    /// The distance between the two times.
    pub difference: i64,
    /// Which of the two times belong to it.
    pub closed: Closed,
    /// The distance from the second time to the record.
    pub delay: i64,
}

/// The bounds that belong to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Closed {
    /// Both bounds.
    Both,
    /// The first time.
    Left,
    /// The last time.
    Right,
    /// No bound.
    Neither,
}

impl FrameSpec {
    /// The frame in ticks of the time column; none if it is the window of a record.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for windows that do not slide, and for lengths that are no multiples of
    /// the resolution or that exceed the windows.
    pub(super) fn in_ticks(
        self,
        windows: WindowLengths,
        unit: TimeUnit,
    ) -> Result<Option<RangeFrame>> {
        let wrong = |argument: &str, micros: i64, allowed: &str| Error::Argument {
            argument: format!("over: {argument}"),
            got: format!("{micros} microseconds"),
            allowed: allowed.into(),
        };
        let WindowLengths::Sliding(sliding) = windows else {
            return Err(wrong("windows", self.difference, "sliding windows"));
        };
        let Sliding {
            difference: longest,
            resolution,
        } = sliding;
        let ticks = |argument: &str, micros: i64| {
            to_exact_ticks(micros, unit)
                .filter(|ticks| ticks.0 % resolution.0 == 0)
                .ok_or_else(|| wrong(argument, micros, "a multiple of the resolution"))
        };
        let difference = ticks("difference", self.difference)?;
        let delay = ticks("delay", self.delay)?;
        if difference == Span(0) {
            let allowed = "a duration longer than zero";
            return Err(wrong("difference", self.difference, allowed));
        }
        let sum = difference.0.checked_add(delay.0).map(Span);
        let Some(mut oldest) = sum.filter(|&sum| sum <= longest) else {
            let allowed = "difference + delay of at most the difference of the windows";
            return Err(wrong("difference", self.difference, allowed));
        };
        let mut newest = delay;
        if matches!(self.closed, Closed::Right | Closed::Neither) {
            oldest = Span(oldest.0 - resolution.0);
        }
        if matches!(self.closed, Closed::Left | Closed::Neither) {
            newest = newest.saturating_add(resolution);
        }
        let whole = oldest == longest && newest == Span(0);
        Ok((!whole).then_some(RangeFrame { oldest, newest }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame in seconds over windows of 60 ticks with a resolution of 10, in seconds or milliseconds.
    fn frame(
        closed: Closed,
        difference: i64,
        delay: i64,
        unit: TimeUnit,
    ) -> Result<Option<RangeFrame>> {
        let spec = FrameSpec {
            difference: difference * 1_000_000,
            closed,
            delay: delay * 1_000_000,
        };
        let sliding = Sliding {
            difference: Span(60),
            resolution: Span(10),
        };
        spec.in_ticks(WindowLengths::Sliding(sliding), unit)
    }

    #[test]
    fn exclusive_bounds_are_one_resolution_further_in() {
        let bounds = |closed, difference, delay| {
            let frame = frame(closed, difference, delay, TimeUnit::Second).unwrap();
            frame.map(|frame| (frame.oldest.0, frame.newest.0))
        };
        assert_eq!(bounds(Closed::Both, 30, 0), Some((30, 0)));
        assert_eq!(bounds(Closed::Left, 30, 0), Some((30, 10)));
        assert_eq!(bounds(Closed::Right, 30, 0), Some((20, 0)));
        assert_eq!(bounds(Closed::Neither, 30, 0), Some((20, 10)));
        assert_eq!(bounds(Closed::Neither, 10, 50), Some((50, 60)));
        assert_eq!(bounds(Closed::Both, 50, 10), Some((60, 10)));
        // the whole window
        assert_eq!(bounds(Closed::Both, 60, 0), None);
        assert_eq!(bounds(Closed::Left, 60, 0), Some((60, 10)));
    }

    #[test]
    fn a_frame_that_does_not_fit_is_refused() {
        let refused = |difference, delay, words: &str| {
            let error = frame(Closed::Both, difference, delay, TimeUnit::Second).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        };
        refused(61, 0, "a multiple of the resolution");
        refused(70, 0, "difference + delay");
        refused(60, 10, "difference + delay");
        refused(0, 10, "longer than zero");
        refused(-10, 10, "over: difference");
        refused(10, -10, "over: delay");
        refused(10, 5, "over: delay");
        // 30 seconds are 30,000 milliseconds
        assert!(frame(Closed::Both, 30, 0, TimeUnit::Millisecond).is_err());
        let sessions =
            WindowLengths::Session(crate::core::session::session_windows::Gap::Fixed(Span(5)));
        let spec = FrameSpec {
            difference: 1,
            closed: Closed::Both,
            delay: 0,
        };
        let error = spec.in_ticks(sessions, TimeUnit::Second).unwrap_err();
        assert!(error.to_string().contains("sliding windows"), "{error}");
    }
}
