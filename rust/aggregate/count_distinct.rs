//! `count_distinct(column)`: how many distinct values there are that are not null; 0 over none. The
//! zeros are one value, and all NaNs are one.

use super::argument::{Argument, Value};
use super::collect_set::CollectSetState;
use super::column::{Column, Values};
use super::dictionary::Dictionary;
use super::runs::Runs;
use super::scalar::Scalar;
use super::state::{State, StateVec};
use super::{InputRows, sweep};
use crate::error::Result;

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

    fn sweep((): &(), rows: InputRows<'_>, runs: Runs<'_>) -> Result<Column<'static>> {
        let mut counts = Vec::with_capacity(runs.len());
        distinct_values::<V>(rows, runs, |distinct| counts.push(distinct))?;
        Ok(Column::new(Values::Int(counts.into())))
    }
}

/// Calls `emit` with the number of distinct values of each run that are not null.
pub(super) fn distinct_values<V: Scalar>(
    rows: InputRows<'_>,
    runs: Runs<'_>,
    mut emit: impl FnMut(i64),
) -> Result<()> {
    let (column, values) = Value::<V>::columns(rows)?;
    let dictionary = Dictionary::new::<V>(column, values, &runs);
    let mut window = DistinctCodes {
        rows: vec![0; dictionary.len()],
        distinct: 0,
    };
    let code = |row: usize| dictionary.code(row).into_iter();
    sweep::subtract_on_evict(
        runs,
        &mut window,
        |window, row| code(row).for_each(|code| window.insert(code)),
        |window, row| code(row).for_each(|code| window.evict(code)),
        |window| emit(window.distinct),
    );
    Ok(())
}

/// How many rows of a window each code has, and how many codes have any.
struct DistinctCodes {
    rows: Vec<u32>,
    distinct: i64,
}

impl DistinctCodes {
    fn insert(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            self.distinct += i64::from(*rows == 0);
            *rows += 1;
        }
    }

    fn evict(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            *rows -= 1;
            self.distinct -= i64::from(*rows == 0);
        }
    }
}
