//! `count_distinct(column)`: how many distinct values there are that are not null; 0 over none. The
//! zeros are one value, and all NaNs are one.

use super::InputRows;
use super::argument::Value;
use super::collect_set::CollectSetState;
use super::column::{Column, Values};
use super::distinct_values::distinct_values;
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::state::{State, StateVec};
use crate::core::error::Result;

/// `count_distinct(column)`.
pub type CountDistinct<V> = StateVec<CountDistinctState<V>>;

/// The distinct values.
#[derive(Clone, Debug, Default)]
pub struct CountDistinctState<V>(CollectSetState<V>);

impl<V: Scalar> State for CountDistinctState<V> {
    type Options = ();
    type Argument = Value<V>;

    fn add(&mut self, (): &(), value: V::Ref<'_>) {
        self.0.add(&(), value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(
        (): &(),
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        let counts = states.map(|state| state.0.ascending().len() as i64);
        Ok(Column::new(Values::Int(counts.collect())))
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

    fn sweep((): &(), rows: InputRows<'_>, runs: RowSpans<'_>) -> Result<Column<'static>> {
        let mut counts = Vec::with_capacity(runs.len());
        distinct_values::<V>(rows, runs, |distinct| counts.push(distinct))?;
        Ok(Column::new(Values::Int(counts.into())))
    }
}
