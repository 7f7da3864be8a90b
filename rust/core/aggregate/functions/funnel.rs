//! `funnel(condition, ...)`, and `funnel(column)` with a value for each step: how many steps of an ordered
//! funnel the rows got through, 0 without rows; `funnel_times`: the times of these steps.

use std::iter::repeat;
use std::marker::PhantomData;
use std::ops::Range;

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Argument;
use crate::core::aggregate::column::{Lists, list};
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, FunnelSteps, ResolvedFunction, StepValue, resolved,
};
use crate::core::aggregate::funnel_chains::{FunnelRules, MOST_STEPS, StepRow};
use crate::core::aggregate::funnel_steps::{Conditions, StepCriterion, StepValues};
use crate::core::aggregate::list_values::ListValues;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::ValueType;
use crate::core::aggregate::{InputRows, state_columns};
use crate::core::error::{Error, Result};
use crate::core::time::Time;

/// A state with fewer rows is not searched for a funnel that is complete.
const FEW: usize = 64;

/// A funnel. The options are its rules, and what makes a row a step.
pub(crate) type Funnel<S> = StateVec<FunnelState<S>>;

/// `funnel`: `int64`.
pub(crate) static FUNNEL: AggregateFunction = AggregateFunction {
    columns: 1..=MOST_STEPS,
    compares: 0..1,
    ..AggregateFunction::new("funnel", |call| resolve(call, FunnelMeasure::Steps))
};

/// `funnel_times`: a list of times.
pub(crate) static FUNNEL_TIMES: AggregateFunction = AggregateFunction {
    columns: 1..=MOST_STEPS,
    compares: 0..1,
    ..AggregateFunction::new("funnel_times", |call| resolve(call, FunnelMeasure::Times))
};

fn resolve(call: &FunctionCall<'_>, measure: FunnelMeasure) -> Result<ResolvedFunction> {
    let funnel = call.options.funnel.clone().unwrap_or_default();
    if funnel.values.is_empty() {
        for position in 0..call.columns.len() {
            if call.value_type(position)? != ValueType::Boolean {
                let allowed = "booleans, or values as steps and column=";
                return Err(call.refused_type(position, allowed));
            }
        }
        return Ok(of_steps(Conditions, call.columns.len(), &funnel, measure));
    }
    let integers = funnel.values.iter().map(|step| match step {
        StepValue::Integer(value) => Some(*value),
        StepValue::Text(_) => None,
    });
    let integers: Option<Vec<i64>> = integers.collect();
    let texts = funnel.values.iter().map(|step| match step {
        StepValue::Integer(_) => None,
        StepValue::Text(value) => Some(value.as_bytes().into()),
    });
    let texts: Option<Vec<Box<[u8]>>> = texts.collect();
    let count = funnel.values.len();
    if count > MOST_STEPS || call.columns.len() != 1 {
        return Err(Error::Internal("a funnel has too many steps or columns"));
    }
    match (call.value_type(0)?, integers, texts) {
        (ValueType::Bytes, _, Some(texts)) => {
            Ok(of_steps(StepValues(texts), count, &funnel, measure))
        }
        (ValueType::Integer, Some(values), _) => {
            Ok(of_steps(StepValues(values), count, &funnel, measure))
        }
        (ValueType::UInt64, Some(values), _) => {
            let values = values.into_iter().map(i128::from).collect();
            Ok(of_steps(StepValues(values), count, &funnel, measure))
        }
        (ValueType::Float, Some(values), _) => {
            let values = values.into_iter().map(|value| value as f64).collect();
            Ok(of_steps(StepValues(values), count, &funnel, measure))
        }
        (_, Some(_), _) => {
            Err(call.refused_type(0, "numbers without a scale, as the steps are integers"))
        }
        _ => Err(call.refused_type(0, "strings, as the steps are strings")),
    }
}

fn of_steps<S: StepCriterion>(
    steps: S,
    count: usize,
    funnel: &FunnelSteps,
    measure: FunnelMeasure,
) -> ResolvedFunction {
    let rules = FunnelRules {
        steps: count,
        within: funnel.within.unwrap_or(i64::MAX),
        strict: funnel.strict,
    };
    let result = match measure {
        FunnelMeasure::Steps => ResultType::INT64,
        FunnelMeasure::Times => ResultType::list(ResultType::TIME.not_null()),
    };
    let options = FunnelOptions {
        rules,
        ties: funnel.ties,
        steps,
        measure,
    };
    resolved(Funnel::new(options), result.not_null())
}

/// The options of a funnel.
#[derive(Clone, Debug)]
pub(crate) struct FunnelOptions<S> {
    pub rules: FunnelRules,
    /// Whether ties order rows of one time. Otherwise they come at once.
    pub ties: bool,
    pub steps: S,
    pub measure: FunnelMeasure,
}

/// What is asked of a funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunnelMeasure {
    /// How many steps the rows got through.
    Steps,
    /// When they did.
    Times,
}

impl<S: StepCriterion> FunnelOptions<S> {
    fn of(&self, row: <S::Argument as Argument>::Row<'_>) -> StepRow {
        let row = self.steps.of(row);
        let tie = if self.ties { row.tie } else { 0 };
        StepRow { tie, ..row }
    }
}

/// The rows that fit a step, and with strict rules all others, in any order. More rows never make the
/// funnel of rules that are not strict shorter, or later if it is complete. So a complete one keeps the rows up
/// to its end, or none if nobody asks for times.
#[derive(Clone, Debug)]
pub(crate) struct FunnelState<S> {
    rows: Vec<StepRow>,
    /// How many rows there were after the last search for a complete funnel.
    searched: usize,
    is_complete: bool,
    steps: PhantomData<fn(S)>,
}

impl<S> Default for FunnelState<S> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            searched: 0,
            is_complete: false,
            steps: PhantomData,
        }
    }
}

impl<S> FunnelState<S> {
    fn complete(&mut self) {
        *self = Self {
            is_complete: true,
            ..Self::default()
        };
    }

    /// Leaves out the rows that a complete funnel does not need.
    fn compact(&mut self, rules: &FunnelRules, measure: FunnelMeasure) {
        self.rows.sort_unstable_by_key(StepRow::rank);
        match measure {
            FunnelMeasure::Steps if rules.reached(&self.rows) == rules.steps => self.complete(),
            FunnelMeasure::Steps => {}
            FunnelMeasure::Times => {
                let times = rules.times(&self.rows);
                if let Some(&end) = times.get(rules.steps - 1) {
                    self.rows.retain(|row| row.time <= end);
                }
            }
        }
        self.searched = self.rows.len();
    }

    /// The rows in the order of their ranks; `scratch` has them if they have to be sorted.
    fn sorted<'a>(&'a self, scratch: &'a mut Vec<StepRow>) -> &'a [StepRow] {
        if self.rows.is_sorted_by_key(StepRow::rank) {
            return &self.rows;
        }
        scratch.clone_from(&self.rows);
        scratch.sort_unstable_by_key(StepRow::rank);
        scratch
    }
}

impl<S: StepCriterion> State for FunnelState<S> {
    type Options = FunnelOptions<S>;
    type Argument = S::Argument;

    fn longest_list(options: &FunnelOptions<S>) -> Option<usize> {
        let is_list = options.measure == FunnelMeasure::Times;
        is_list.then_some(options.rules.steps)
    }

    fn kept_rows(options: &FunnelOptions<S>) -> usize {
        if options.rules.strict {
            usize::MAX
        } else {
            FEW
        }
    }

    #[inline]
    fn add(&mut self, options: &FunnelOptions<S>, row: <S::Argument as Argument>::Row<'_>) {
        let row = options.of(row);
        let rules = &options.rules;
        if self.is_complete || (row.steps == 0 && !rules.strict) {
            return;
        }
        self.rows.push(row);
        if self.rows.len() >= FEW.max(2 * self.searched) && !rules.strict {
            self.compact(rules, options.measure);
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.is_complete || other.is_complete {
            self.complete();
        } else {
            self.rows.extend_from_slice(&other.rows);
        }
    }

    fn lower<'s>(
        options: &FunnelOptions<S>,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let (rules, mut scratch) = (&options.rules, Vec::new());
        let mut results = FunnelResults::new(options.measure);
        for state in states {
            results.push(rules, state.sorted(&mut scratch), state.is_complete);
        }
        Ok(results.column())
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (mut offsets, mut rows, mut scratch) = (vec![0], Vec::new(), Vec::new());
        let (mut ends_of_ties, mut ties) = (vec![0], Vec::new());
        for state in states.clone() {
            let own = state.sorted(&mut scratch);
            rows.extend_from_slice(own);
            offsets.push(rows.len() as i64);
            if own.iter().any(|row| row.tie != 0) {
                ties.extend(own.iter().map(|row| Some(row.tie.cast_signed())));
            }
            ends_of_ties.push(ties.len() as i64);
        }
        let times = rows.iter().map(|row| Some(row.time.0));
        let steps = rows.iter().map(|row| Some(i64::from(row.steps)));
        vec![
            list(offsets.clone(), i64::column(times)),
            list(offsets, i64::column(steps)),
            list(ends_of_ties, i64::column(ties.into_iter())),
            i64::column(states.map(|state| Some(i64::from(state.is_complete)))),
        ]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [times, steps, ties, complete] = state_columns(columns)?;
        let (times, steps, complete) = (Lists::of(times)?, Lists::of(steps)?, i64::view(complete)?);
        let (ticks, bits) = (i64::view(times.elements)?, i64::view(steps.elements)?);
        let ties = Lists::of(ties)?;
        let numbers = i64::view(ties.elements)?.values();
        let state = |(nth, (own, &is_complete)): (usize, (Range<usize>, &i64))| {
            let of_ties = ties.range(nth);
            if !of_ties.is_empty() && own.len() != of_ties.len() {
                return Err(Error::Internal("the ties of a funnel's state lack rows"));
            }
            let ties = numbers.get(of_ties).unwrap_or_default().iter();
            let ties = ties.map(|tie| tie.cast_unsigned()).chain(repeat(0));
            let row = |(row, tie)| {
                let steps = u32::try_from(i64::at(bits, row));
                Ok(StepRow {
                    time: Time(i64::at(ticks, row)),
                    tie,
                    steps: steps.map_err(|_| Error::Internal("a funnel has too many steps"))?,
                })
            };
            let rows: Vec<StepRow> = own.zip(ties).map(row).collect::<Result<_>>()?;
            Ok(Self {
                searched: rows.len(),
                rows,
                is_complete: is_complete == 1,
                steps: PhantomData,
            })
        };
        let lists = [steps];
        let states = times.ranges(&lists)?.zip(complete.values()).enumerate();
        states.map(state).collect()
    }

    fn list_values(
        options: &FunnelOptions<S>,
        _rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ListValues> {
        let most = Self::longest_list(options).unwrap_or(0);
        let values = spans.iter().map(|span| span.len().min(most)).sum();
        Ok(ListValues {
            values,
            bytes: values.saturating_mul(size_of::<Time>()),
        })
    }

    fn sweep(
        options: &FunnelOptions<S>,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ArrayRef> {
        let columns = S::Argument::columns(rows)?;
        let rules = &options.rules;
        let count = spans.iter().map(|span| span.to).max().unwrap_or(0);
        let step_row = |row| S::Argument::get(columns, row).map(|row| options.of(row));
        let all: Vec<StepRow> = (0..count as usize)
            .map(|row| step_row(row).unwrap_or_default())
            .collect();
        let (mut results, mut own) = (FunnelResults::new(options.measure), Vec::new());
        for span in spans.stretches().flatten() {
            let rows = all.get(span.from as usize..span.to as usize);
            own.clear();
            let rows = rows.unwrap_or_default().iter();
            own.extend(rows.filter(|row| row.steps > 0 || rules.strict));
            if !own.is_sorted_by_key(StepRow::rank) {
                own.sort_by_key(StepRow::rank);
            }
            results.push(rules, &own, false);
        }
        Ok(results.column())
    }
}

/// What is asked of the funnels of windows, one after the other.
struct FunnelResults {
    measure: FunnelMeasure,
    values: Vec<i64>,
    /// Where the times of each window start.
    offsets: Vec<i64>,
}

impl FunnelResults {
    fn new(measure: FunnelMeasure) -> Self {
        Self {
            measure,
            values: Vec::new(),
            offsets: vec![0],
        }
    }

    /// Adds the funnel of rows in the order of their ranks. A complete one may have no rows.
    fn push(&mut self, rules: &FunnelRules, rows: &[StepRow], is_complete: bool) {
        match self.measure {
            FunnelMeasure::Steps if is_complete => self.values.push(rules.steps as i64),
            FunnelMeasure::Steps => self.values.push(rules.reached(rows) as i64),
            FunnelMeasure::Times => {
                let times = rules.times(rows);
                self.values.extend(times.iter().map(|time| time.0));
                self.offsets.push(self.values.len() as i64);
            }
        }
    }

    fn column(self) -> ArrayRef {
        let values = i64::dense(self.values);
        match self.measure {
            FunnelMeasure::Steps => values,
            FunnelMeasure::Times => list(self.offsets, values),
        }
    }
}
