//! `percentile(column, percentage)` and `median(column)`: exact, interpolated between two values; null over
//! no values. NaN is the largest value.
//!
//! ```text
//!   place     0    1    2    3        of 4 values, sorted
//!   value    10   20   40   80        percentage 0.5: place 1.5, halfway between 20 and 40
//! ```

use arrow_array::ArrayRef;

use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::Value;
use crate::core::aggregate::column::{nullable_list, validity};
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, Shares, resolved,
};
use crate::core::aggregate::numeric::Numeric;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_counts::ValueCounts;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::Result;

/// `percentile(column, percentage)`.
pub(crate) type Percentile<V> = StateVec<PercentileState<V>>;

/// `percentile(column, percentage)`: `float64`, or a list for several shares.
pub(crate) static PERCENTILE: AggregateFunction = AggregateFunction {
    takes_percentage: true,
    ..AggregateFunction::new("percentile", resolve)
};
/// `median(column)`: `float64`.
pub(crate) static MEDIAN: AggregateFunction = AggregateFunction::new("median", resolve);

fn resolve(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let (kind, scale) = call.number(0)?;
    let half = || Shares {
        shares: vec![0.5],
        list: false,
    };
    let Shares { shares, list } = call.options.percentage.clone().unwrap_or_else(half);
    let result = if list {
        ResultType::list(ResultType::FLOAT64.not_null())
    } else {
        ResultType::FLOAT64
    };
    let percentiles = Percentiles {
        shares,
        list,
        scale,
    };
    Ok(dispatch_number!(kind, |V| resolved(
        Percentile::<V>::new(percentiles),
        result
    )))
}

/// Which percentiles.
#[derive(Clone, Debug)]
pub(crate) struct Percentiles {
    /// The shares of values below the result, from 0 to 1.
    pub shares: Vec<f64>,
    /// Whether the result is a list of them; else it is the first one.
    pub list: bool,
    /// The divisor of one unit of the value: 100 for a decimal with two digits after the
    /// point, 1 for integers and floats.
    pub scale: f64,
}

/// The values.
#[derive(Clone, Debug, Default)]
pub(crate) struct PercentileState<V>(ValueCounts<V>);

/// The percentile of `count` values; `nth` gives the value at a place.
fn percentile(share: f64, count: i64, nth: impl Fn(i64) -> f64) -> f64 {
    let place = share * (count - 1) as f64;
    let (lower, higher) = (nth(place.floor() as i64), nth(place.ceil() as i64));
    if lower == higher || place.fract() == 0.0 {
        return lower;
    }
    (place.ceil() - place) * lower + (place - place.floor()) * higher
}

/// Percentiles of windows, one after the other.
struct Results<'o> {
    percentiles: &'o Percentiles,
    values: Vec<f64>,
    valid: Vec<bool>,
}

impl<'o> Results<'o> {
    fn new(percentiles: &'o Percentiles) -> Self {
        Self {
            percentiles,
            values: Vec::new(),
            valid: Vec::new(),
        }
    }

    fn push(&mut self, count: i64, nth: impl Fn(i64) -> f64) {
        self.valid.push(count > 0);
        let Percentiles {
            shares,
            list,
            scale,
        } = self.percentiles;
        if count > 0 {
            let value = |&share: &f64| percentile(share, count, |place| nth(place) / scale);
            self.values.extend(shares.iter().map(value));
        } else if !list {
            self.values.push(0.0);
        }
    }

    fn column(self) -> ArrayRef {
        if self.percentiles.list {
            let (mut end, each) = (0, self.percentiles.shares.len() as i64);
            let ends = self.valid.iter().map(|&valid| {
                end += if valid { each } else { 0 };
                end
            });
            let offsets = std::iter::once(0).chain(ends).collect();
            nullable_list(offsets, f64::dense(self.values), validity(&self.valid))
        } else {
            let values = self.valid.iter().zip(self.values);
            f64::column(values.map(|(valid, value)| valid.then_some(value)))
        }
    }
}

impl<V: Numeric> State for PercentileState<V> {
    type Options = Percentiles;
    type Argument = Value<V>;

    fn add(&mut self, _percentiles: &Percentiles, value: V) {
        self.0.add(value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(
        percentiles: &Percentiles,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let mut results = Results::new(percentiles);
        for state in states {
            let values = state.0.ascending();
            let mut total = 0_i64;
            let ends: Vec<i64> = values
                .iter()
                .map(|(_, count)| {
                    total = total.saturating_add(*count);
                    total
                })
                .collect();
            let nth = |place: i64| {
                let position = ends.partition_point(|&end| end <= place);
                values
                    .get(position)
                    .map_or(f64::NAN, |(value, _)| value.float())
            };
            results.push(total, nth);
        }
        Ok(results.column())
    }

    save_as!(ValueCounts<V>);

    fn sweep(
        percentiles: &Percentiles,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ArrayRef> {
        let mut results = Results::new(percentiles);
        ValueCounts::<V>::sweep(rows, spans, |counts, value| {
            let nth = |place: i64| value(counts.nth(place as u32)).map_or(f64::NAN, V::float);
            results.push(counts.total().into(), nth);
        })?;
        Ok(results.column())
    }
}
