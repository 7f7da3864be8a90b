//! `mean(column)`: null without values. Its total never overflows.

use arrow_array::ArrayRef;

use super::sum::ADDABLE;
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
use crate::core::aggregate::{InputRows, common_len, overflow, row_counts, sweep};
use crate::core::error::{Error, Result};

/// The kind of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeanType {
    /// Always a float, for integers and floats, as in Spark.
    Float,
    /// The kind of the values, ties away from zero: decimals and durations, as in Spark.
    Rounded {
        /// The factor of the mean before it is rounded: a power of ten if the result has more
        /// digits after the point.
        factor: i128,
        /// A decimal result is below this in size.
        limit: i128,
    },
}

/// `mean(column)`.
pub(crate) type Mean<V> = StateVec<MeanState<V>>;

/// `mean(column)`: `float64`, `decimal(p + 4, s + 4)` or the same duration, as Spark.
pub(crate) static MEAN: AggregateFunction = AggregateFunction::new("mean", |call| {
    let (kind, mean_type, result) = resolve(call)?;
    Ok(dispatch_number!(kind, |V| resolved(
        Mean::<V>::new(mean_type),
        result
    )))
});

fn resolve(call: &FunctionCall<'_>) -> Result<(NumberKind, MeanType, ResultType)> {
    let float = |kind| Ok((kind, MeanType::Float, ResultType::FLOAT64));
    match call.value_type(0)? {
        ValueType::Integer => float(NumberKind::Int),
        ValueType::UInt64 => float(NumberKind::Wide),
        ValueType::Float => float(NumberKind::Float),
        ValueType::Decimal { precision, scale } => {
            let wider = MAX_PRECISION.min(precision.saturating_add(4));
            let finer = (MAX_PRECISION as i8).min(scale.saturating_add(4));
            let mean_type = MeanType::Rounded {
                factor: decimal_limit(finer.saturating_sub(scale).unsigned_abs()),
                limit: decimal_limit(wider),
            };
            let result = ResultType::decimal(wider, finer);
            Ok((NumberKind::Wide, mean_type, result))
        }
        ValueType::Duration => {
            let mean_type = MeanType::Rounded {
                factor: 1,
                limit: 0,
            };
            Ok((NumberKind::Int, mean_type, ResultType::OF_COLUMN))
        }
        ValueType::Boolean => {
            let column = call
                .columns
                .first()
                .map(|column| column.name)
                .unwrap_or_default();
            let hint = format!(
                "count_if({column:?}) / count() is the share of records in which it is true, and \
                 count_if({column:?}) / count({column:?}) that without nulls"
            );
            Err(call.refused_type(0, &format!("{ADDABLE}; {hint}")))
        }
        _ => Err(call.refused_type(0, ADDABLE)),
    }
}

/// The total and the number of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeanState<V: Summable> {
    total: V::Total,
    count: i64,
}

impl<V: Summable> State for MeanState<V> {
    type Options = MeanType;
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, _type: &MeanType, value: V) {
        self.total.add(value);
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.count += other.count;
    }

    fn lower<'s>(
        mean_type: &MeanType,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let MeanType::Rounded { factor, limit } = *mean_type else {
            let mean = |state: &Self| (state.count > 0).then(|| V::mean(&state.total, state.count));
            return Ok(f64::column(states.map(mean)));
        };
        let mut means = Vec::with_capacity(states.size_hint().0);
        for (window, Self { total, count }) in states.enumerate() {
            let mean = || {
                V::rounded_mean(total, *count, factor, limit)
                    .ok_or_else(|| overflow(window, "the mean does not fit the result type"))
            };
            means.push((*count > 0).then(mean).transpose()?);
        }
        Ok(V::column(means.into_iter()))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let mut columns = V::Total::save(states.clone().map(|state| &state.total));
        columns.push(i64::dense(states.map(|state| state.count)));
        columns
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let Some((counts, totals)) = columns.split_last() else {
            return Err(Error::Internal("mean lacks state columns"));
        };
        common_len(columns)?;
        let states = V::Total::load(totals)?.into_iter().zip(row_counts(counts)?);
        Ok(states.map(|(total, count)| Self { total, count }).collect())
    }

    fn sweep(mean_type: &MeanType, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let columns = Value::<V>::columns(rows)?;
        let value = |row| Value::<V>::get(columns, row);
        let states = sweep::totals(value, spans, |total, count| Self { total, count });
        Self::lower(mean_type, states.iter())
    }
}
