//! `sum(column)`: null without values; a result that does not fit is an error, as in ANSI SQL.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::{Argument, Value};
use crate::core::aggregate::function::{AggregateFunction, FunctionCall, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::total::{Summable, Total};
use crate::core::aggregate::value_type::{
    MAX_PRECISION, NumberKind, ValueType, decimal_limit, dispatch_number,
};
use crate::core::aggregate::{InputRows, common_len, overflow, sweep};
use crate::core::error::{Error, Result};

/// `sum(column)`. The option is what a decimal result stays below in size; other kinds ignore it.
pub type Sum<V> = StateVec<SumState<V>>;

/// `sum(column)`: `int64`, `float64`, `decimal(p + 10, s)` or the same duration, as Spark.
pub static SUM: AggregateFunction = AggregateFunction::new("sum", |call| {
    let (kind, limit, result) = sum_type(call)?;
    Ok(dispatch_number!(kind, |V| resolved(
        Sum::<V>::new(limit),
        result
    )))
});

/// What `sum` and `mean` take.
pub(super) const ADDABLE: &str =
    "integers, floats, decimals of up to 38 digits and durations (day-time intervals)";

/// The kind of the values, what a decimal sum stays below, and the type of the sum.
pub(super) fn sum_type(call: &FunctionCall<'_>) -> Result<(NumberKind, i128, ResultType)> {
    let value_type = call.value_type(0)?;
    if let Some((precision, scale)) = value_type.decimal() {
        let precision = MAX_PRECISION.min(precision.saturating_add(10));
        let result = ResultType::decimal(precision, scale);
        return Ok((NumberKind::Wide, decimal_limit(precision), result));
    }
    match value_type {
        ValueType::Integer => Ok((NumberKind::Int, 0, ResultType::INT64)),
        ValueType::Duration => Ok((NumberKind::Int, 0, ResultType::OF_COLUMN)),
        ValueType::Float => Ok((NumberKind::Float, 0, ResultType::FLOAT64)),
        ValueType::Boolean if call.function == SUM.name => {
            let counted = call.columns.first().map(|column| column.name);
            let hint = format!(
                "count_if({:?}) counts those that are true",
                counted.unwrap_or_default()
            );
            Err(call.refused_type(0, &format!("{ADDABLE}; {hint}")))
        }
        _ => Err(call.refused_type(0, ADDABLE)),
    }
}

/// The total, and whether a value is in it.
#[derive(Clone, Debug, Default)]
pub struct SumState<V: Summable> {
    total: V::Total,
    seen: bool,
}

impl<V: Summable> State for SumState<V> {
    type Options = i128;
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, _limit: &i128, value: V) {
        self.total.add(value);
        self.seen = true;
    }

    fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.seen |= other.seen;
    }

    fn lower<'s>(
        &limit: &i128,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let mut sums = Vec::with_capacity(states.size_hint().0);
        for (window, state) in states.enumerate() {
            let sum = V::from_total(&state.total, limit)
                .ok_or_else(|| overflow(window, "the sum does not fit the result type"))?;
            sums.push(state.seen.then_some(sum));
        }
        Ok(V::column(sums.into_iter()))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let mut columns = V::Total::save(states.clone().map(|state| &state.total));
        let seen = states.map(|state| i64::from(state.seen));
        columns.push(i64::dense(seen));
        columns
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let Some((seen, totals)) = columns.split_last() else {
            return Err(Error::Internal("sum lacks state columns"));
        };
        common_len(columns)?;
        let seen = i64::view(seen)?.values();
        let states = V::Total::load(totals)?.into_iter().zip(seen);
        let state = |(total, &seen)| Self {
            total,
            seen: seen != 0,
        };
        Ok(states.map(state).collect())
    }

    fn sweep(limit: &i128, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let columns = Value::<V>::columns(rows)?;
        let value = |row| Value::<V>::get(columns, row);
        let states = sweep::totals(value, spans, |total, count| Self {
            total,
            seen: count > 0,
        });
        Self::lower(limit, states.iter())
    }
}
