//! `min_by(value, by)` and `max_by(value, by)`: the value of the row where `by` is least or
//! greatest.
//!
//! Rows whose `by` is null do not count; ties of `by` go to the earliest row by (time, arrival).
//! The value itself may be null. Null without rows; NaN is the largest float, as in Spark.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef};

use crate::core::aggregate::argument::{Argument, RankedValue};
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::row_value::RowValue;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{InputRows, RowPosition, common_len, sweep};
use crate::core::error::{Error, Result};

/// `min_by(value, by)`, or `max_by(value, by)` if `MAX`.
pub(crate) type MinMaxBy<V, B, const MAX: bool> = StateVec<MinMaxByState<V, B, MAX>>;

/// `min_by(value, by)`: the type of `value`.
pub(crate) static MIN_BY: AggregateFunction = AggregateFunction {
    columns: 2..=2,
    is_ordered: true,
    compares: 1..2,
    ranks: true,
    ..AggregateFunction::new("min_by", resolve::<false>)
};
/// `max_by(value, by)`: the type of `value`.
pub(crate) static MAX_BY: AggregateFunction = AggregateFunction {
    columns: 2..=2,
    is_ordered: true,
    compares: 1..2,
    ranks: true,
    ..AggregateFunction::new("max_by", resolve::<true>)
};

fn resolve<const MAX: bool>(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let (value, by) = (call.value_type(0)?.kind(), call.value_type(1)?.kind());
    Ok(dispatch_kind!(value, |V| dispatch_kind!(by, |B| resolved(
        MinMaxBy::<V, B, MAX>::default(),
        ResultType::OF_COLUMN
    ))))
}

/// The best row, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct MinMaxByState<V: Scalar, B: Scalar, const MAX: bool>(Option<RankedRow<V, B>>);

/// A row and the value that ranks it.
#[derive(Clone, Debug)]
struct RankedRow<V, B> {
    by: B,
    row: RowValue<V>,
}

impl<V: Scalar, B: Scalar, const MAX: bool> MinMaxByState<V, B, MAX> {
    /// How a row's `by` compares to another's: `Less` is preferred.
    #[inline]
    fn rank(left: B::Ref<'_>, right: B::Ref<'_>) -> Ordering {
        if MAX {
            B::compare(left, right).reverse()
        } else {
            B::compare(left, right)
        }
    }
}

impl<V: Scalar, B: Scalar, const MAX: bool> State for MinMaxByState<V, B, MAX> {
    type Options = ();
    type Argument = RankedValue<V, B>;

    #[inline]
    fn add(
        &mut self,
        (): &(),
        (by, position, value): (B::Ref<'_>, RowPosition, Option<V::Ref<'_>>),
    ) {
        match &mut self.0 {
            Some(best) => {
                let rank = Self::rank(by, best.by.get()).then(position.cmp(&best.row.position));
                if rank.is_lt() {
                    best.by.set(by);
                    best.row.set(position, value);
                }
            }
            None => {
                self.0 = Some(RankedRow {
                    by: B::from_ref(by),
                    row: RowValue::new(position, value),
                });
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        if let Some(RankedRow { by, row }) = &other.0 {
            self.add(&(), (by.get(), row.position, row.get()));
        }
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(V::column(states.map(|state| state.0.as_ref()?.row.get())))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let best = states.map(|state| state.0.as_ref());
        let mut columns = vec![B::column(best.clone().map(|best| Some(best?.by.get())))];
        columns.extend(RowValue::save(best.map(|best| Some(&best?.row))));
        columns
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let Some((by, rows)) = columns.split_first() else {
            return Err(Error::Internal("min_by or max_by lacks state columns"));
        };
        common_len(columns)?;
        let ranks = B::view(by)?;
        let state = |(position, row): (usize, Option<RowValue<V>>)| {
            let by = B::from_ref(B::at(ranks, position));
            Self(row.map(|row| RankedRow { by, row }))
        };
        let rows = RowValue::load(rows)?.into_iter().enumerate();
        Ok(rows.map(state).collect())
    }

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let ((_, values), ranks) = RankedValue::<V, B>::columns(rows)?;
        let mut best: Vec<Option<usize>> = Vec::with_capacity(spans.len());
        sweep::monotonic_deque(
            spans,
            |row| ranks.is_valid(row),
            |new, old| Self::rank(B::at(ranks, new), B::at(ranks, old)).is_lt(),
            |row| best.push(row),
        );
        Ok(sweep::gather::<V>(values, best))
    }
}
