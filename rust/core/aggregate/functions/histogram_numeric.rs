//! `histogram_numeric(column, bins)`: ascending bins with the mean and the number of their values;
//! null without values. NaN is the largest value.
//!
//! Each distinct value starts as a separate bin. While there are too many bins, the two with the
//! nearest means become one; of several such pairs, the lowest one. The result depends only on the
//! values, while Spark's depends on their order.
//!
//! ```text
//!   value   1   2       5  6            9    3 bins: 1 and 2, then 5 and 6 are nearest
//!   count   1   1       1  1            2
//!   bin      1.5         5.5            9
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow_array::ArrayRef;

use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::Value;
use crate::core::aggregate::column::{nullable_list, side_by_side, validity};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::list_values::{self, ListValues};
use crate::core::aggregate::numeric::Numeric;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_counts::ValueCounts;
use crate::core::aggregate::value_type::{ValueKind, ValueType, dispatch_number};
use crate::core::error::Result;

/// `histogram_numeric(column, bins)`. The option is the largest number of bins.
pub(crate) type HistogramNumeric<V> = StateVec<HistogramNumericState<V>>;

/// `histogram_numeric(column, bins)`: a list of structs of a value and how many values are near it.
pub(crate) static HISTOGRAM_NUMERIC: AggregateFunction =
    AggregateFunction::new("histogram_numeric", |call| {
        let (value_type, most) = (call.value_type(0)?, call.most(2)?);
        let kind = match value_type.kind() {
            ValueKind::Number(kind) if value_type != ValueType::Boolean => kind,
            _ => {
                let allowed = "integers, floats, decimals of up to 38 digits, dates, times, \
                               timestamps and durations (day-time intervals)";
                return Err(call.refused_type(0, allowed));
            }
        };
        let result = ResultType::list_of_structs([
            ("x", ResultType::OF_COLUMN.not_null()),
            ("y", ResultType::FLOAT64.not_null()),
        ]);
        Ok(dispatch_number!(kind, |V| resolved(
            HistogramNumeric::<V>::new(most),
            result
        )))
    });

/// The values.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistogramNumericState<V>(ValueCounts<V>);

/// Neighbouring values.
#[derive(Clone, Copy, Debug)]
struct Bin<V> {
    /// The least and the largest of them.
    least: V,
    largest: V,
    /// Their sum; infinite if it is too large for a float.
    sum: f64,
    mean: f64,
    count: i64,
}

impl<V: Numeric> Bin<V> {
    fn new(value: V, count: i64) -> Self {
        let float = value.float();
        Self {
            least: value,
            largest: value,
            sum: float * count as f64,
            mean: float,
            count,
        }
    }

    /// The values of this bin and those of the next one.
    fn merge(self, next: Self) -> Self {
        let (sum, count) = (self.sum + next.sum, self.count.saturating_add(next.count));
        let share = next.count as f64 / (self.count as f64 + next.count as f64);
        let mean = if sum.is_finite() {
            sum / count as f64
        } else {
            self.mean * (1.0 - share) + next.mean * share
        };
        let (least, largest) = (self.least.float(), next.largest.float());
        Self {
            least: self.least,
            largest: next.largest,
            sum,
            mean: if mean.is_nan() {
                mean
            } else {
                mean.max(least).min(largest)
            },
            count,
        }
    }

    /// The mean as a value, between the least and the largest.
    fn centre(&self) -> V {
        let centre = V::of_centre(self.mean);
        if V::compare(centre, self.least).is_lt() {
            self.least
        } else if V::compare(centre, self.largest).is_gt() && !self.mean.is_nan() {
            self.largest
        } else {
            centre
        }
    }
}

/// The distance of two means, as a number in the order of floats; infinities and NaN are farthest.
fn distance(left: f64, right: f64) -> u64 {
    let distance = right - left;
    if distance.is_finite() {
        distance.max(0.0).to_bits()
    } else {
        u64::MAX
    }
}

fn set<T>(places: &mut [T], place: usize, value: T) {
    if let Some(held) = places.get_mut(place) {
        *held = value;
    }
}

/// The place at one side of another.
fn beside(places: &[Option<usize>], place: usize) -> Option<usize> {
    places.get(place).copied().flatten()
}

/// Bins of ascending values, in which neighbours are merged.
struct Neighbours<V> {
    /// None where the bin has gone into one below it.
    bins: Vec<Option<Bin<V>>>,
    /// The places of the bins at both sides of each.
    below: Vec<Option<usize>>,
    above: Vec<Option<usize>>,
    /// Neighbours by their distance, including former neighbours.
    pairs: BinaryHeap<Reverse<(u64, usize, usize)>>,
}

impl<V: Numeric> Neighbours<V> {
    /// A bin for each value.
    fn new(values: &[(V, i64)]) -> Self {
        let bin = |&(value, count): &(V, i64)| Some(Bin::new(value, count));
        let places = 0..values.len();
        Self {
            bins: values.iter().map(bin).collect(),
            below: places.clone().map(|place| place.checked_sub(1)).collect(),
            above: places.skip(1).map(Some).chain([None]).collect(),
            pairs: BinaryHeap::new(),
        }
    }

    fn bin(&self, place: usize) -> Option<Bin<V>> {
        self.bins.get(place).copied().flatten()
    }

    /// Makes all neighbours known to [`Self::merge_nearest`].
    fn pair_all(&mut self) {
        let neighbours = self.bins.windows(2).enumerate();
        let pairs = neighbours.filter_map(|(left, neighbours)| match neighbours {
            [Some(lower), Some(higher)] => {
                Some(Reverse((distance(lower.mean, higher.mean), left, left + 1)))
            }
            _ => None,
        });
        self.pairs = pairs.collect::<Vec<_>>().into();
    }

    /// Makes two neighbours known to [`Self::merge_nearest`].
    fn pair(&mut self, left: usize, right: usize) {
        if let (Some(lower), Some(higher)) = (self.bin(left), self.bin(right)) {
            let apart = distance(lower.mean, higher.mean);
            self.pairs.push(Reverse((apart, left, right)));
        }
    }

    /// Makes the nearest neighbours one bin; false where there are none.
    fn merge_nearest(&mut self) -> bool {
        while let Some(Reverse((apart, left, right))) = self.pairs.pop() {
            let (Some(lower), Some(higher)) = (self.bin(left), self.bin(right)) else {
                continue;
            };
            if distance(lower.mean, higher.mean) != apart {
                continue;
            }
            let bin = lower.merge(higher);
            let (below, above) = (beside(&self.below, left), beside(&self.above, right));
            set(&mut self.bins, left, Some(bin));
            set(&mut self.bins, right, None);
            set(&mut self.above, left, above);
            if let Some(above) = above {
                set(&mut self.below, above, Some(left));
                self.pair(left, above);
            }
            if let Some(below) = below {
                self.pair(below, left);
            }
            return true;
        }
        false
    }
}

/// The bins of ascending values, at most `most`.
fn bins<V: Numeric>(most: usize, values: &[(V, i64)]) -> Vec<Bin<V>> {
    let mut neighbours = Neighbours::new(values);
    let surplus = values.len().saturating_sub(most);
    if surplus > 0 {
        neighbours.pair_all();
    }
    (0..surplus)
        .take_while(|_| neighbours.merge_nearest())
        .for_each(drop);
    neighbours.bins.into_iter().flatten().collect()
}

/// Lists of bins of windows, one after the other.
struct Histograms<V> {
    most: usize,
    offsets: Vec<i64>,
    valid: Vec<bool>,
    bins: Vec<Bin<V>>,
}

impl<V: Numeric> Histograms<V> {
    fn new(most: usize) -> Self {
        Self {
            most,
            offsets: vec![0],
            valid: Vec::new(),
            bins: Vec::new(),
        }
    }

    fn push(&mut self, values: &[(V, i64)]) {
        self.bins.extend(bins(self.most, values));
        self.valid.push(!values.is_empty());
        self.offsets.push(self.bins.len() as i64);
    }

    fn column(self) -> ArrayRef {
        let heights = self.bins.iter().map(|bin| bin.count as f64);
        let fields = vec![
            V::column(self.bins.iter().map(|bin| Some(bin.centre()))),
            f64::dense(heights),
        ];
        nullable_list(self.offsets, side_by_side(fields), validity(&self.valid))
    }
}

impl<V: Numeric> State for HistogramNumericState<V> {
    type Options = usize;
    type Argument = Value<V>;

    fn longest_list(&most: &usize) -> Option<usize> {
        Some(most)
    }

    fn add(&mut self, _most: &usize, value: V) {
        self.0.add(value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(most: &usize, states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        let mut histograms = Histograms::new(*most);
        states.for_each(|state| histograms.push(&state.0.ascending()));
        Ok(histograms.column())
    }

    save_as!(ValueCounts<V>);

    fn list_values(&most: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        list_values::of_distinct::<V>(rows, spans, most, size_of::<f64>())
    }

    fn sweep(most: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let mut histograms = Histograms::new(*most);
        ValueCounts::<V>::sweep(rows, spans, |counts, value| {
            if spans.is_stopped() {
                return;
            }
            let codes = counts.ascending().into_iter();
            let values = codes.filter_map(|(code, count)| Some((value(code)?, count.into())));
            histograms.push(&values.collect::<Vec<_>>());
        })?;
        Ok(histograms.column())
    }
}
