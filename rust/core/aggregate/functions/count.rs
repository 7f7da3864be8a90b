//! `count()` and `count(column, ...)`: rows, or rows that hold a value in each column.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::{Argument, Presence};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::{InputRows, row_counts, state_columns, sweep};
use crate::core::error::Result;

/// `count()` without an input column; with some, rows with a null in any of them do not count.
pub type Count = StateVec<CountState>;

/// `count()` and `count(column, ...)`: `int64`.
pub static COUNT: AggregateFunction = AggregateFunction {
    columns: 0..=usize::MAX,
    ..AggregateFunction::new("count", |_| {
        Ok(resolved(Count::default(), ResultType::INT64.not_null()))
    })
};

/// The number of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountState(i64);

impl State for CountState {
    type Options = ();
    type Argument = Presence;

    #[inline]
    fn add(&mut self, (): &(), holds_value: bool) {
        self.0 += i64::from(holds_value);
    }

    fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(i64::dense(states.map(|state| state.0)))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        vec![i64::dense(states.map(|state| state.0))]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [counts] = state_columns(columns)?;
        Ok(row_counts(counts)?.into_iter().map(Self).collect())
    }

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let columns = Presence::columns(rows)?;
        if let (None, []) = columns {
            return Ok(i64::dense(spans.iter().map(|span| span.len() as i64)));
        }
        let counted = |row| i64::from(Presence::get(columns, row) == Some(true));
        let mut counts = Vec::with_capacity(spans.len());
        sweep::subtract_on_evict(
            spans,
            &mut 0,
            |count, row| *count += counted(row),
            |count, row| *count -= counted(row),
            |&count| counts.push(count),
        );
        Ok(i64::dense(counts))
    }
}
