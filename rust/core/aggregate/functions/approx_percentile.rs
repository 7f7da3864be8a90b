//! `approx_percentile(column, percentage, accuracy)`: the value at a place of the sorted values, cut to
//! some significant bits; null without values. NaN is the largest value.
//!
//! Values with the same cut value are counted together, so a state holds at most some thousand values for
//! each power of two, however many rows there are. A cut value depends only on the value. The result
//! therefore depends neither on the order of rows nor on how states were merged.
//!
//! ```text
//!   1_000_003   11110100001001000011 (20 bits)  cut to 8 bits  11110100000000000000   999_424
//! ```

use arrow_array::{Array, ArrayRef};

use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::{Argument, Value};
use crate::core::aggregate::column::{nullable_list, validity};
use crate::core::aggregate::function::{AggregateFunction, Shares, resolved};
use crate::core::aggregate::numeric::Numeric;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_counts::ValueCounts;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::{Error, Result};

/// `approx_percentile(column, percentage, accuracy)`.
pub(crate) type ApproxPercentile<V> = StateVec<ApproxPercentileState<V>>;

/// `approx_percentile(column, percentage, accuracy)`: the column's type, or a list of it for several
/// shares. The accuracy is one over the relative error.
pub(crate) static APPROX_PERCENTILE: AggregateFunction = AggregateFunction {
    takes_percentage: true,
    ..AggregateFunction::new("approx_percentile", |call| {
        let accuracy = call.accuracy(10_000.0, 1.0..=1_000_000.0)?;
        let (kind, _) = call.number(0)?;
        let Some(Shares { shares, list }) = call.options.percentage.clone() else {
            return Err(Error::Internal(
                "the shares of a percentile are out of range",
            ));
        };
        let result = if list {
            ResultType::list(ResultType::OF_COLUMN.not_null())
        } else {
            ResultType::OF_COLUMN
        };
        let percentiles = ApproxPercentiles {
            shares,
            list,
            bits: accuracy.log2().ceil() as u32 + 1,
        };
        Ok(dispatch_number!(kind, |V| resolved(
            ApproxPercentile::<V>::new(percentiles),
            result
        )))
    })
};

/// Which percentiles, and how exact they are.
#[derive(Clone, Debug)]
pub(crate) struct ApproxPercentiles {
    /// The shares of values up to the result, from 0 to 1.
    pub shares: Vec<f64>,
    /// Whether the result is a list of them; else it is the first one.
    pub list: bool,
    /// The number of significant bits. The relative error of a cut value is below `2^(1 - bits)`.
    pub bits: u32,
}

/// The cut values.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApproxPercentileState<V>(ValueCounts<V>);

/// The place of the smallest value that has at least this share of the values up to it.
fn place(share: f64, count: i64) -> i64 {
    ((share * count as f64).ceil() as i64 - 1).clamp(0, (count - 1).max(0))
}

/// A column of the values at the places of each window; null for a window without values.
fn column<V: Numeric>(options: &ApproxPercentiles, windows: Vec<Option<Vec<V>>>) -> ArrayRef {
    if !options.list {
        let first = |window: Option<Vec<V>>| window?.first().copied();
        return V::column(windows.into_iter().map(first));
    }
    let valid: Vec<bool> = windows.iter().map(Option::is_some).collect();
    let mut offsets = vec![0_i64];
    let mut values = Vec::new();
    for window in windows {
        values.extend(window.into_iter().flatten());
        offsets.push(values.len() as i64);
    }
    nullable_list(offsets, V::dense(values), validity(&valid))
}

impl<V: Numeric> State for ApproxPercentileState<V> {
    type Options = ApproxPercentiles;
    type Argument = Value<V>;

    fn add(&mut self, options: &ApproxPercentiles, value: V) {
        self.0.add(value.cut(options.bits));
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(
        options: &ApproxPercentiles,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let windows = states.map(|state| {
            let values = state.0.ascending();
            let count: i64 = values.iter().map(|(_, count)| *count).sum();
            let nth = |place: i64| {
                let mut rest = place;
                let mut held = values.iter().skip_while(|(_, count)| {
                    let beyond = rest >= *count;
                    rest -= if beyond { *count } else { 0 };
                    beyond
                });
                held.next().map(|(value, _)| *value)
            };
            let shares = options.shares.iter();
            (count > 0).then(|| {
                shares
                    .filter_map(|&share| nth(place(share, count)))
                    .collect()
            })
        });
        Ok(column(options, windows.collect()))
    }

    save_as!(ValueCounts<V>);

    fn sweep(
        options: &ApproxPercentiles,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ArrayRef> {
        let given = Value::<V>::columns(rows)?;
        let cut = |row: usize| Some(Value::<V>::get(given, row)?.cut(options.bits));
        let cuts = [V::column((0..given.len()).map(cut))];
        let rows = InputRows {
            inputs: &cuts,
            ..rows
        };
        let mut windows = Vec::with_capacity(spans.len());
        ValueCounts::<V>::sweep(rows, spans, |counts, value| {
            let count = i64::from(counts.total());
            let nth = |&share: &f64| value(counts.nth(place(share, count) as u32));
            let shares = options.shares.iter();
            windows.push((count > 0).then(|| shares.filter_map(nth).collect()));
        })?;
        Ok(column(options, windows))
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_place_is_that_of_the_least_value_with_the_share() {
        assert_eq!(
            [0.0, 0.25, 0.26, 1.0].map(|share| place(share, 4)),
            [0, 0, 1, 3]
        );
        assert_eq!(place(0.5, 1), 0);
    }
}
