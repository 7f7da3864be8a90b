//! The frames of a query's aggregates. Aggregates over one frame are computed together.

use arrow_schema::TimeUnit;

use super::aggregate::AggregatePlan;
use super::frame_spec::{Closed, FrameSpec};
use super::spec::{AggregateSpec, Spec};
use super::window_lengths::{WindowLengths, to_exact_ticks};
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::window_results::WindowResults;
use crate::core::error::{Error, Result};
use crate::core::sliding::frame::RangeFrame;
use crate::core::sliding::plan::Sliding;
use crate::core::time::Span;
use crate::core::window::Window;

/// The aggregates over one frame.
pub(crate) struct FramedAggregates {
    /// The number of the frame among those of the query; none for the window of a record.
    pub number: Option<usize>,
    /// Their states.
    pub states: Accumulators,
    /// For each, the place of its states among those that a stream stores.
    pub stored: Vec<usize>,
    frame: Option<RangeFrame>,
    /// For each, its place among all built-in aggregates.
    places: Vec<usize>,
}

/// Sets the frame of each aggregate, and which of them share states. Returns the distinct frames.
pub(super) fn resolve(
    aggregates: &mut [AggregatePlan],
    spec: &Spec,
    windows: WindowLengths,
    unit: TimeUnit,
) -> Result<Vec<RangeFrame>> {
    let mut frames = Vec::new();
    let mut stored: Vec<&AggregateSpec> = Vec::new();
    for (aggregate, own) in aggregates.iter_mut().zip(&spec.aggregates) {
        let frame = own.frame.map(|frame| in_ticks(frame, windows, unit));
        aggregate.frame = frame.transpose()?.flatten().map(|frame| {
            let known = frames.iter().position(|&other| other == frame);
            known.unwrap_or_else(|| {
                frames.push(frame);
                frames.len() - 1
            })
        });
        if aggregate.is_built_in() {
            let is_alike =
                |other: &&AggregateSpec| spec.returns_records && own.has_states_of(other);
            let known = stored.iter().position(is_alike);
            aggregate.shares_states = known.is_some();
            aggregate.stored = known.unwrap_or_else(|| {
                stored.push(own);
                stored.len() - 1
            });
        }
    }
    Ok(frames)
}

/// The results of all built-in aggregates, in order, from those of the aggregates over each frame.
pub(crate) fn joined(
    framed: &[FramedAggregates],
    mut results: impl FnMut(&FramedAggregates) -> Result<WindowResults>,
) -> Result<WindowResults> {
    let mut joined = Vec::new();
    let mut overflows = 0;
    for aggregates in framed {
        let results = results(aggregates).map_err(|error| aggregates.of_query(error))?;
        overflows += results.overflows;
        joined.extend(aggregates.places.iter().zip(results.columns));
    }
    joined.sort_unstable_by_key(|(place, _)| **place);
    Ok(WindowResults {
        columns: joined.into_iter().map(|(_, column)| column).collect(),
        overflows,
    })
}

/// The frame in ticks of the time column; none if it is the window of a record.
fn in_ticks(spec: FrameSpec, windows: WindowLengths, unit: TimeUnit) -> Result<Option<RangeFrame>> {
    let wrong = |argument: &str, micros: i64, allowed: &str| Error::Argument {
        argument: format!("over: {argument}"),
        got: format!("{micros} microseconds"),
        allowed: allowed.into(),
    };
    let WindowLengths::Sliding(sliding) = windows else {
        return Err(wrong("windows", spec.difference, "sliding windows"));
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
    let difference = ticks("difference", spec.difference)?;
    let delay = ticks("delay", spec.delay)?;
    if difference == Span(0) {
        let allowed = "a duration longer than zero";
        return Err(wrong("difference", spec.difference, allowed));
    }
    let sum = difference.0.checked_add(delay.0).map(Span);
    let Some(mut oldest) = sum.filter(|&sum| sum <= longest) else {
        let allowed = "difference + delay of at most the difference of the windows";
        return Err(wrong("difference", spec.difference, allowed));
    };
    let mut newest = delay;
    if matches!(spec.closed, Closed::Right | Closed::Neither) {
        oldest = Span(oldest.0 - resolution.0);
    }
    if matches!(spec.closed, Closed::Left | Closed::Neither) {
        newest = newest.saturating_add(resolution);
    }
    let whole = oldest == longest && newest == Span(0);
    Ok((!whole).then_some(RangeFrame { oldest, newest }))
}

impl FramedAggregates {
    /// The aggregates with this frame, their numbers, and their empty states.
    pub(super) fn new(
        aggregates: &[AggregatePlan],
        number: Option<usize>,
        frame: Option<RangeFrame>,
        states: Accumulators,
    ) -> Self {
        let own = aggregates.iter().filter(|known| known.is_built_in());
        let own = own.enumerate().filter(|(_, known)| known.frame == number);
        let (places, stored) = own.map(|(place, known)| (place, known.stored)).unzip();
        Self {
            number,
            states,
            stored,
            frame,
            places,
        }
    }

    /// The times of the frame in a window that ends at a record.
    pub(crate) fn part_of(&self, window: Window) -> Window {
        self.frame.map_or(window, |frame| frame.times(window.end))
    }

    /// An error that numbers the aggregates over this frame, with the number among all.
    fn of_query(&self, error: Error) -> Error {
        match error {
            Error::ResultOverflow {
                aggregate,
                window,
                reason,
            } => Error::ResultOverflow {
                aggregate: self.places.get(aggregate).copied().unwrap_or(aggregate),
                window,
                reason,
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame in seconds over windows of 60 ticks with a resolution of 10, in seconds or
    /// milliseconds.
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
        in_ticks(spec, WindowLengths::Sliding(sliding), unit)
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
        let error = in_ticks(spec, sessions, TimeUnit::Second).unwrap_err();
        assert!(error.to_string().contains("sliding windows"), "{error}");
    }
}
