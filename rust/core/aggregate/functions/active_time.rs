//! `active_time(limit, breaks)` and `active_runs(limit)`: how long the rows are active, and in how many
//! runs. A run ends where the next row begins more than the limit after the latest end so far. The column, if
//! there is one, has the end of each row. 0 without rows.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Bounds;
use crate::core::aggregate::column::{Lists, list};
use crate::core::aggregate::function::{AggregateFunction, Breaks, FunctionCall, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::{overflow, state_columns};
use crate::core::error::{Error, Result};
use crate::core::time::{Span, Time};

/// A state with fewer runs always has them in order. Among more of them a place is not worth finding, so
/// runs out of order wait until they are as many as those in order.
const FEW: usize = 32;

/// The runs of each window. The option is what its result says of them.
pub(crate) type Active = StateVec<ActiveState>;

/// `active_time`: a duration in the unit of the time column.
pub(crate) static ACTIVE_TIME: AggregateFunction = AggregateFunction {
    columns: 0..=1,
    ..AggregateFunction::new("active_time", |call| {
        let breaks = call.options.breaks.unwrap_or_default();
        let active = Active::new(of_runs(call, ActiveMeasure::Length(breaks))?);
        Ok(resolved(active, ResultType::DURATION.not_null()))
    })
};

/// `active_runs`: `int64`.
pub(crate) static ACTIVE_RUNS: AggregateFunction = AggregateFunction {
    columns: 0..=1,
    ..AggregateFunction::new("active_runs", |call| {
        let active = Active::new(of_runs(call, ActiveMeasure::Runs)?);
        Ok(resolved(active, ResultType::INT64.not_null()))
    })
};

fn of_runs(call: &FunctionCall<'_>, measure: ActiveMeasure) -> Result<ActiveOptions> {
    let limit = call.limit()?;
    Ok(ActiveOptions { limit, measure })
}

/// The longest break within a run, and what is asked of the runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveOptions {
    pub limit: Span,
    pub measure: ActiveMeasure,
}

/// What is asked of the runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ActiveMeasure {
    /// How many there are.
    Runs,
    /// How long they are together.
    Length(Breaks),
}

/// A run: the time from the start of its first row to the latest end of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: Time,
    end: Time,
}

impl Run {
    /// The run of no rows. It ends before it starts.
    const NONE: Self = Self {
        start: Time::MAX,
        end: Time::MIN,
    };

    /// Takes in a run that starts at this one's start or later, if it belongs to this one.
    #[inline]
    fn joins(&mut self, later: Self, limit: Span) -> bool {
        let joins = later.start.since(self.end) <= limit;
        if joins {
            self.end = self.end.max(later.end);
        }
        joins
    }
}

/// Runs: the one that came last, which most rows join, and those before it. Runs in order lie further apart
/// than the limit; others follow in any order, which may touch.
#[derive(Clone, Debug)]
pub(crate) struct ActiveState {
    last: Run,
    /// The limit of the aggregate, without which runs cannot be merged. Zero without runs.
    limit: Span,
    earlier: Vec<Run>,
    /// The number of runs in order, the last one among them.
    in_order: usize,
}

impl Default for ActiveState {
    fn default() -> Self {
        Self {
            last: Run::NONE,
            limit: Span(0),
            earlier: Vec::new(),
            in_order: 1,
        }
    }
}

impl ActiveState {
    #[inline]
    fn push(&mut self, run: Run) {
        if self.last == Run::NONE {
            self.last = run;
        } else if run.start < self.last.start || !self.last.joins(run, self.limit) {
            self.begin(run);
        }
    }

    /// Takes in a run that does not join the one that came last.
    fn begin(&mut self, mut run: Run) {
        if self.earlier.is_empty()
            && run.start < self.last.start
            && run.joins(self.last, self.limit)
        {
            self.last = run;
            return;
        }
        let before = std::mem::replace(&mut self.last, run);
        self.earlier.push(before);
        let count = self.earlier.len();
        let are_in_order = self.in_order == count;
        if are_in_order && before.start <= run.start {
            self.in_order += 1;
            return;
        }
        if are_in_order && count < FEW {
            insert(&mut self.earlier, run, self.limit);
        } else if count >= FEW.max(2 * self.in_order) {
            self.earlier.push(run);
            in_order(&mut self.earlier, self.limit);
        } else {
            return;
        }
        self.in_order = self.earlier.len();
        self.last = self.earlier.pop().unwrap_or(run);
    }

    /// Appends all runs in order, further apart than the limit.
    fn append_to(&self, runs: &mut Vec<Run>) {
        if self.last == Run::NONE {
            return;
        }
        let from = runs.len();
        runs.extend_from_slice(&self.earlier);
        runs.push(self.last);
        if self.in_order <= self.earlier.len() {
            let mut own = runs.split_off(from);
            in_order(&mut own, self.limit);
            runs.append(&mut own);
        }
    }
}

/// Inserts a run into sorted runs, and joins it with those that it touches.
fn insert(runs: &mut Vec<Run>, mut run: Run, limit: Span) {
    let mut from = runs.partition_point(|each| each.start <= run.start);
    let later = runs.iter().skip(from);
    let to = from + later.take_while(|each| run.joins(**each, limit)).count();
    if let Some(before) = from.checked_sub(1).and_then(|place| runs.get_mut(place))
        && before.joins(run, limit)
    {
        run = *before;
        from -= 1;
    }
    runs.splice(from..to, [run]);
}

/// Puts runs in order, and joins those that belong together.
fn in_order(runs: &mut Vec<Run>, limit: Span) {
    runs.sort_unstable_by_key(|run| run.start);
    runs.dedup_by(|later, run| run.joins(*later, limit));
}

impl ActiveOptions {
    /// What is asked of runs in order; none if it does not fit.
    fn of(self, runs: &[Run]) -> Option<i64> {
        let ActiveMeasure::Length(breaks) = self.measure else {
            return i64::try_from(runs.len()).ok();
        };
        let lengths = runs
            .iter()
            .map(|run| i128::from(run.end.since(run.start).0));
        let within = match breaks {
            Breaks::Cut => i128::from(self.limit.0) * runs.len().saturating_sub(1) as i128,
            Breaks::Drop => 0,
        };
        i64::try_from(lengths.sum::<i128>() + within).ok()
    }
}

impl State for ActiveState {
    type Options = ActiveOptions;
    type Argument = Bounds;

    #[inline]
    fn add(&mut self, options: &ActiveOptions, (start, end): (Time, Time)) {
        self.limit = options.limit;
        self.push(Run { start, end });
    }

    fn merge(&mut self, other: &Self) {
        self.limit = self.limit.max(other.limit);
        other.earlier.iter().for_each(|&run| self.push(run));
        if other.last != Run::NONE {
            self.push(other.last);
        }
    }

    fn lower<'s>(
        options: &ActiveOptions,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let mut runs = Vec::new();
        let result = |(window, state): (usize, &Self)| {
            runs.clear();
            state.append_to(&mut runs);
            let result = options.of(&runs);
            result.ok_or_else(|| overflow(window, "the active time does not fit the result type"))
        };
        let results: Result<Vec<i64>> = states.enumerate().map(result).collect();
        Ok(i64::dense(results?))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (mut offsets, mut runs) = (vec![0], Vec::new());
        for state in states.clone() {
            state.append_to(&mut runs);
            offsets.push(runs.len() as i64);
        }
        let starts = i64::column(runs.iter().map(|run| Some(run.start.0)));
        let ends = i64::column(runs.iter().map(|run| Some(run.end.0)));
        vec![
            list(offsets.clone(), starts),
            list(offsets, ends),
            i64::column(states.map(|state| Some(state.limit.0.cast_signed()))),
        ]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [starts, ends, limits] = state_columns(columns)?;
        let (starts, ends, limits) = (Lists::of(starts)?, Lists::of(ends)?, i64::view(limits)?);
        let (from, to) = (i64::view(starts.elements)?, i64::view(ends.elements)?);
        let state = |(runs, &limit): (Range<usize>, &i64)| {
            let limit = u64::try_from(limit).map(Span);
            let limit =
                limit.map_err(|_| Error::Internal("the limit of active runs is negative"))?;
            let mut state = Self {
                limit,
                ..Self::default()
            };
            for run in runs {
                let (start, end) = (Time(i64::at(from, run)), Time(i64::at(to, run)));
                let is_first = state.last == Run::NONE;
                let is_apart = start > state.last.end && start.since(state.last.end) > limit;
                if end < start || !is_first && !is_apart {
                    return Err(Error::Internal("active runs are not in order"));
                }
                state.push(Run { start, end });
            }
            Ok(state)
        };
        starts
            .ranges(&[ends])?
            .zip(limits.values())
            .map(state)
            .collect()
    }
}
