//! The frames of a query's aggregates. Aggregates over one frame are computed together.

use arrow_schema::TimeUnit;

use super::aggregate::AggregatePlan;
use super::spec::{AggregateSpec, Spec};
use super::window_lengths::WindowLengths;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::window_results::WindowResults;
use crate::core::error::{Error, Result};
use crate::core::sliding::frame::RangeFrame;
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
///
/// # Errors
///
/// As [`FrameSpec::in_ticks`](super::frame_spec::FrameSpec::in_ticks).
pub(super) fn resolve(
    aggregates: &mut [AggregatePlan],
    spec: &Spec,
    windows: WindowLengths,
    unit: TimeUnit,
) -> Result<Vec<RangeFrame>> {
    let mut frames = Vec::new();
    let mut stored: Vec<&AggregateSpec> = Vec::new();
    for (aggregate, own) in aggregates.iter_mut().zip(&spec.aggregates) {
        let frame = own.frame.map(|frame| frame.in_ticks(windows, unit));
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
///
/// # Errors
///
/// The errors of `results`.
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

impl FramedAggregates {
    /// The aggregates with this frame, by number and as it is, and their empty states.
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
