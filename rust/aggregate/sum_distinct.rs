//! `sum_distinct(column)`: the sum of the distinct values; null over none. Values are told apart as
//! in `count_distinct`, and summed as in `sum`.

use super::InputRows;
use super::argument::{Argument, Value};
use super::collect_set::{CollectSetState, sweep_codes};
use super::column::Column;
use super::dictionary::Dictionary;
use super::runs::Runs;
use super::state::{State, StateVec};
use super::sum::SumState;
use super::total::Summable;
use crate::error::Result;

/// `sum_distinct(column)`. The option is that of [`Sum`](super::sum::Sum).
pub type SumDistinct<V> = StateVec<SumDistinctState<V>>;

/// The distinct values.
#[derive(Clone, Debug)]
pub struct SumDistinctState<V: Summable>(CollectSetState<V>);

impl<V: Summable> Default for SumDistinctState<V> {
    fn default() -> Self {
        Self(CollectSetState::default())
    }
}

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

    fn lower<'s>(
        limit: &i128,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        let sums: Vec<SumState<V>> = states
            .map(|state| sum(limit, state.0.ascending().into_iter()))
            .collect();
        SumState::lower(limit, sums.iter())
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
        CollectSetState::save(states.map(|state| &state.0))
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        Ok(CollectSetState::load(columns)?
            .into_iter()
            .map(Self)
            .collect())
    }

    fn sweep(limit: &i128, rows: InputRows<'_>, runs: Runs<'_>) -> Result<Column<'static>> {
        let (column, values) = Value::<V>::columns(rows)?;
        let dictionary = Dictionary::new::<V>(column, values);
        let value = |&code: &u32| dictionary.value::<V>(values, code).map(V::canonical);
        let mut sums = Vec::with_capacity(runs.len());
        sweep_codes(&dictionary, runs, |codes| {
            sums.push(sum(limit, codes.iter().filter_map(value)));
        });
        SumState::lower(limit, sums.iter())
    }
}
