//! `min(column)` and `max(column)`, and for booleans `bool_and(column)` and `bool_or(column)`: null over
//! no values. NaN is the largest float, as in Spark. -0.0 is smaller than 0.0, so that the result does
//! not depend on the order of rows.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef};

use crate::core::aggregate::argument::{Argument, Value};
use crate::core::aggregate::float_order::OrderedFloat;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::{NumberKind, ValueKind, ValueType, dispatch_kind};
use crate::core::aggregate::{InputRows, state_columns, sweep};
use crate::core::error::Result;

/// `min(column)`, or `max(column)` if `MAX`.
pub type MinMax<V, const MAX: bool> = StateVec<MinMaxState<V, MAX>>;

/// `min(column)`: the column's type.
pub static MIN: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ranks: true,
    ..AggregateFunction::new("min", resolve::<false>)
};
/// `max(column)`: the column's type.
pub static MAX: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ranks: true,
    ..AggregateFunction::new("max", resolve::<true>)
};
/// `bool_and(column)`: the least boolean.
pub static BOOL_AND: AggregateFunction =
    AggregateFunction::new("bool_and", resolve_booleans::<false>);
/// `bool_or(column)`: the greatest boolean.
pub static BOOL_OR: AggregateFunction = AggregateFunction::new("bool_or", resolve_booleans::<true>);

fn resolve<const MAX: bool>(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let result = ResultType::OF_COLUMN;
    Ok(match call.value_type(0)?.kind() {
        ValueKind::Number(NumberKind::Float) => {
            resolved(MinMax::<OrderedFloat, MAX>::default(), result)
        }
        kind => dispatch_kind!(kind, |V| resolved(MinMax::<V, MAX>::default(), result)),
    })
}

fn resolve_booleans<const MAX: bool>(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    match call.value_type(0)? {
        ValueType::Boolean => resolve::<MAX>(call),
        _ => Err(call.refused_type(0, "booleans")),
    }
}

/// The least or greatest value, and whether there is one.
#[derive(Clone, Debug, Default)]
pub struct MinMaxState<V: Scalar, const MAX: bool> {
    value: V,
    seen: bool,
}

impl<V: Scalar, const MAX: bool> MinMaxState<V, MAX> {
    /// Whether a value replaces another.
    #[inline]
    fn beats(new: V::Ref<'_>, old: V::Ref<'_>) -> bool {
        let wanted = if MAX {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        V::compare_bits(new, old) == wanted
    }

    fn get(&self) -> Option<V::Ref<'_>> {
        self.seen.then(|| self.value.get())
    }
}

impl<V: Scalar, const MAX: bool> State for MinMaxState<V, MAX> {
    type Options = ();
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, (): &(), value: V::Ref<'_>) {
        // Without a branch: which of a session's values is the best so far cannot be predicted.
        self.value
            .set_if(!self.seen | Self::beats(value, self.value.get()), value);
        self.seen = true;
    }

    fn merge(&mut self, other: &Self) {
        if let Some(value) = other.get() {
            self.add(&(), value);
        }
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(V::column(states.map(Self::get)))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        vec![V::column(states.map(Self::get))]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [column] = state_columns(columns)?;
        let state = |value: Option<V::Ref<'_>>| Self {
            seen: value.is_some(),
            value: value.map(V::from_ref).unwrap_or_default(),
        };
        Ok(V::values(column)?.map(state).collect())
    }

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let values = Value::<V>::columns(rows)?;
        let mut best: Vec<Option<usize>> = Vec::with_capacity(spans.len());
        sweep::monotonic_deque(
            spans,
            |row| values.is_valid(row),
            |new, old| !Self::beats(V::at(values, old), V::at(values, new)),
            |row| best.push(row),
        );
        Ok(sweep::gather::<V>(values, best))
    }
}
