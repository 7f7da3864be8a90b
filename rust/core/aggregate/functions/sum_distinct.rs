//! `sum_distinct(column)`: the sum of the distinct values; null without values. Values are distinct as in
//! `count_distinct`, and added up as in `sum`.

use arrow_array::ArrayRef;

use super::collect_set::CollectSetState;
use super::sum::{SumState, sum_type};
use crate::core::aggregate::argument::{Argument, Value};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::total::Summable;
use crate::core::aggregate::value_dictionary::Dictionary;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::aggregate::{InputRows, sweep};
use crate::core::error::Result;

/// `sum_distinct(column)`. The option is that of [`Sum`](super::sum::Sum).
pub(crate) type SumDistinct<V> = StateVec<SumDistinctState<V>>;

/// `sum_distinct(column)`: the type of [`sum`](super::sum::SUM).
pub(crate) static SUM_DISTINCT: AggregateFunction =
    AggregateFunction::new("sum_distinct", |call| {
        let (kind, limit, result) = sum_type(call)?;
        Ok(dispatch_number!(kind, |V| resolved(
            SumDistinct::<V>::new(limit),
            result
        )))
    });

/// The distinct values.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumDistinctState<V: Summable>(CollectSetState<V>);

/// The sum of some values.
fn sum<V: Summable>(limit: &i128, values: impl Iterator<Item = V>) -> SumState<V> {
    let mut sum = SumState::default();
    values.for_each(|value| sum.add(limit, value));
    sum
}

impl<V: Summable> State for SumDistinctState<V> {
    type Options = i128;
    type Argument = Value<V>;

    fn add(&mut self, _limit: &i128, value: V) {
        self.0.add(&(), value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(limit: &i128, states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        let sums: Vec<SumState<V>> = states
            .map(|state| sum(limit, state.0.ascending().into_iter()))
            .collect();
        SumState::lower(limit, sums.iter())
    }

    save_as!(CollectSetState<V>);

    fn sweep(limit: &i128, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let values = Value::<V>::columns(rows)?;
        let dictionary = Dictionary::new::<V>(values, &spans);
        let value = |code| dictionary.value::<V>(values, code).map(V::canonical);
        let code = |row: usize| dictionary.code(row);
        let mut sums = Vec::with_capacity(spans.len());
        sweep::subtract_on_evict(
            spans,
            &mut DistinctSum::new(dictionary.len()),
            |window, row| {
                if let Some(code) = code(row) {
                    window.insert(code, || sum(limit, value(code).into_iter()));
                }
            },
            |window, row| code(row).into_iter().for_each(|code| window.evict(code)),
            |window| sums.push(window.sum()),
        );
        SumState::lower(limit, sums.iter())
    }
}

/// The sum of the distinct values of a window, by their codes. Nothing is subtracted, so floats do not
/// drift.
///
/// ```text
///                  9                     the sum of all
///            7           2               of the two below
///          4     3     –     2           of the values of codes 0 to 3; none where code 2 has no rows
/// ```
struct DistinctSum<V: Summable> {
    /// How many rows of the window have each code.
    rows: Vec<u32>,
    /// The node of code 0 in a complete binary tree, whose root is node 1.
    leaves: usize,
    nodes: Vec<SumState<V>>,
}

impl<V: Summable> DistinctSum<V> {
    /// No rows of a number of codes.
    fn new(codes: usize) -> Self {
        let leaves = codes.next_power_of_two();
        Self {
            rows: vec![0; codes],
            leaves,
            nodes: vec![SumState::default(); 2 * leaves],
        }
    }

    fn node(&self, position: usize) -> SumState<V> {
        self.nodes.get(position).cloned().unwrap_or_default()
    }

    fn sum(&self) -> SumState<V> {
        self.node(1)
    }

    /// Adds a row with a code, whose value `value` gives.
    fn insert(&mut self, code: u32, value: impl FnOnce() -> SumState<V>) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            *rows += 1;
            if *rows == 1 {
                self.set(code, value());
            }
        }
    }

    /// Removes a row with a code.
    fn evict(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            *rows -= 1;
            if *rows == 0 {
                self.set(code, SumState::default());
            }
        }
    }

    fn set(&mut self, code: u32, value: SumState<V>) {
        let mut position = self.leaves + code as usize;
        let mut sum = value;
        while let Some(node) = self.nodes.get_mut(position) {
            *node = sum;
            position /= 2;
            if position == 0 {
                break;
            }
            sum = self.node(2 * position);
            sum.merge(&self.node(2 * position + 1));
        }
    }
}
