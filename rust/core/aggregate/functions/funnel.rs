//! `funnel(condition, ...)`, and `funnel(column)` with a value for each step: how many steps of an ordered
//! funnel the rows got through. 0 without rows.

use std::marker::PhantomData;

use crate::core::aggregate::argument::{Argument, Flags, PositionedValue};
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, FunnelSteps, ResolvedFunction, StepValue, resolved,
};
use crate::core::aggregate::funnel_chains::{FunnelRules, MOST_STEPS, StepRow};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::ValueType;
use crate::core::aggregate::{InputRows, RowPosition, state_columns};
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
    ..AggregateFunction::new("funnel", resolve)
};

fn resolve(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let funnel = call.options.funnel.clone().unwrap_or_default();
    if funnel.values.is_empty() {
        for position in 0..call.columns.len() {
            if call.value_type(position)? != ValueType::Boolean {
                let allowed = "booleans, or values as steps and column=";
                return Err(call.refused_type(position, allowed));
            }
        }
        return Ok(of_steps(Conditions, call.columns.len(), &funnel));
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
        (ValueType::Bytes, _, Some(texts)) => Ok(of_steps(StepValues(texts), count, &funnel)),
        (ValueType::Integer, Some(values), _) => Ok(of_steps(StepValues(values), count, &funnel)),
        (ValueType::UInt64, Some(values), _) => {
            let values = values.into_iter().map(i128::from).collect();
            Ok(of_steps(StepValues(values), count, &funnel))
        }
        (ValueType::Float, Some(values), _) => {
            let values = values.into_iter().map(|value| value as f64).collect();
            Ok(of_steps(StepValues(values), count, &funnel))
        }
        (_, Some(_), _) => {
            Err(call.refused_type(0, "numbers without a scale, as the steps are integers"))
        }
        _ => Err(call.refused_type(0, "strings, as the steps are strings")),
    }
}

fn of_steps<S: StepCriterion>(steps: S, count: usize, funnel: &FunnelSteps) -> ResolvedFunction {
    let rules = FunnelRules {
        steps: count,
        within: funnel.within.unwrap_or(i64::MAX),
        strict: funnel.strict,
    };
    let ties = funnel.ties;
    resolved(
        Funnel::new(FunnelOptions { rules, ties, steps }),
        ResultType::INT64.not_null(),
    )
}

/// What makes a row a step.
pub(crate) trait StepCriterion: Clone + Send + Sync + 'static {
    /// What it takes from a row.
    type Argument: Argument;

    /// The position of a row and the steps that it fits.
    fn of(&self, row: <Self::Argument as Argument>::Row<'_>) -> StepRow;
}

/// A boolean column for each step.
#[derive(Clone, Debug)]
pub(crate) struct Conditions;

impl StepCriterion for Conditions {
    type Argument = Flags;

    #[inline]
    fn of(&self, ((time, tie), steps): (RowPosition, u32)) -> StepRow {
        StepRow { time, tie, steps }
    }
}

/// A value for each step.
#[derive(Clone, Debug)]
pub(crate) struct StepValues<V>(pub Vec<V>);

impl<V: Scalar> StepCriterion for StepValues<V> {
    type Argument = PositionedValue<V>;

    #[inline]
    fn of(&self, ((time, tie), value): <Self::Argument as Argument>::Row<'_>) -> StepRow {
        let mut steps = 0;
        if let Some(value) = value {
            for (step, bit) in self.0.iter().zip(0..) {
                steps |= u32::from(V::compare(step.get(), value).is_eq()) << bit;
            }
        }
        StepRow { time, tie, steps }
    }
}

/// The options of a funnel.
#[derive(Clone, Debug)]
pub(crate) struct FunnelOptions<S> {
    pub rules: FunnelRules,
    /// Whether ties order rows of one time. Otherwise they come at once.
    pub ties: bool,
    pub steps: S,
}

impl<S: StepCriterion> FunnelOptions<S> {
    fn of(&self, row: <S::Argument as Argument>::Row<'_>) -> StepRow {
        let row = self.steps.of(row);
        let tie = if self.ties { row.tie } else { 0 };
        StepRow { tie, ..row }
    }
}

/// The rows that fit a step, and with strict rules all others, in any order. More rows never make the
/// funnel of rules that are not strict shorter, so a complete one keeps no rows.
#[derive(Clone, Debug)]
pub(crate) struct FunnelState<S> {
    rows: Vec<StepRow>,
    is_complete: bool,
    steps: PhantomData<fn(S)>,
}

impl<S> Default for FunnelState<S> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
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
        let count = self.rows.len();
        if count >= FEW && count.is_power_of_two() && !rules.strict {
            self.rows.sort_unstable_by_key(StepRow::rank);
            if rules.reached(&self.rows) == rules.steps {
                self.complete();
            }
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
    ) -> Result<Column<'static>> {
        let (rules, mut scratch) = (&options.rules, Vec::new());
        let reached = states.map(|state| match state.is_complete {
            true => rules.steps as i64,
            false => rules.reached(state.sorted(&mut scratch)) as i64,
        });
        Ok(Column::new(Values::Int(reached.collect())))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
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
            Column::list(offsets.clone(), i64::column(times)),
            Column::list(offsets, i64::column(steps)),
            Column::list(ends_of_ties, i64::column(ties.into_iter())),
            i64::column(states.map(|state| Some(i64::from(state.is_complete)))),
        ]
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([times, steps, ties, complete], len) = state_columns(columns)?;
        let (times, steps, complete) = (times.lists()?, steps.lists()?, i64::view(complete)?);
        let (ticks, bits) = (i64::view(times.elements)?, i64::view(steps.elements)?);
        let ties = ties.lists()?;
        let numbers = i64::view(ties.elements)?;
        let mut states = Vec::with_capacity(len);
        for row in 0..len {
            let (own, of_steps, of_ties) = (times.range(row), steps.range(row), ties.range(row));
            let has_ties = !of_ties.is_empty();
            if own.len() != of_steps.len() || has_ties && own.len() != of_ties.len() {
                return Err(Error::Internal(
                    "the lists of a funnel's state differ in length",
                ));
            }
            let step_row = |(nth, (time, steps)): (usize, (usize, usize))| {
                let tie = of_ties.start + nth;
                let steps = u32::try_from(i64::at(bits, steps));
                Ok(StepRow {
                    time: Time(i64::at(ticks, time)),
                    tie: if has_ties {
                        i64::at(numbers, tie).cast_unsigned()
                    } else {
                        0
                    },
                    steps: steps.map_err(|_| Error::Internal("a funnel has too many steps"))?,
                })
            };
            states.push(Self {
                rows: own
                    .zip(of_steps)
                    .enumerate()
                    .map(step_row)
                    .collect::<Result<_>>()?,
                is_complete: i64::at(complete, row) == 1,
                steps: PhantomData,
            });
        }
        Ok(states)
    }

    fn sweep(
        options: &FunnelOptions<S>,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<Column<'static>> {
        let columns = S::Argument::columns(rows)?;
        let rules = &options.rules;
        let count = spans.iter().map(|span| span.to).max().unwrap_or(0);
        let step_row = |row| S::Argument::get(columns, row).map(|row| options.of(row));
        let all: Vec<StepRow> = (0..count as usize)
            .map(|row| step_row(row).unwrap_or_default())
            .collect();
        let (mut reached, mut own) = (Vec::with_capacity(spans.len()), Vec::new());
        for span in spans.stretches().flatten() {
            let rows = all.get(span.from as usize..span.to as usize);
            own.clear();
            let rows = rows.unwrap_or_default().iter();
            own.extend(rows.filter(|row| row.steps > 0 || rules.strict));
            if !own.is_sorted_by_key(StepRow::rank) {
                own.sort_by_key(StepRow::rank);
            }
            reached.push(rules.reached(&own) as i64);
        }
        Ok(Column::new(Values::Int(reached.into())))
    }
}
