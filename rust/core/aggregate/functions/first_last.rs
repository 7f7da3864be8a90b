//! `first(column)` and `last(column)`: the value of the earliest or latest row by event time, ties
//! by arrival. `any_value` is `first`.
//!
//! ```text
//!   time    1    1    2    5
//!   value   -    a    b    -          first: -   last: -     ignoring nulls, first: a   last: b
//! ```

use arrow_array::{Array, ArrayRef};

use crate::core::aggregate::argument::{Argument, PositionedValue};
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::row_value::RowValue;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{InputRows, RowPosition, RowSpan, sweep};
use crate::core::error::Result;

/// `first(column)`, or `last(column)` if `LAST`. The option is whether to skip rows without a value.
pub(crate) type FirstLast<V, const LAST: bool> = StateVec<FirstLastState<V, LAST>>;

/// `first(column)`: the column's type.
pub(crate) static FIRST: AggregateFunction = AggregateFunction {
    is_ordered: true,
    ..AggregateFunction::new("first", resolve::<false>)
};
/// `last(column)`: the column's type.
pub(crate) static LAST: AggregateFunction = AggregateFunction {
    is_ordered: true,
    ..AggregateFunction::new("last", resolve::<true>)
};
/// `any_value(column)`: the column's type.
pub(crate) static ANY_VALUE: AggregateFunction = AggregateFunction {
    is_ordered: true,
    ..AggregateFunction::new("any_value", resolve::<false>)
};

fn resolve<const LAST: bool>(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let ignore_nulls = call.options.ignore_nulls;
    Ok(dispatch_kind!(call.value_type(0)?.kind(), |V| resolved(
        FirstLast::<V, LAST>::new(ignore_nulls),
        ResultType::OF_COLUMN
    )))
}

/// The earliest or latest row, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstLastState<V: Scalar, const LAST: bool>(Option<RowValue<V>>);

impl<V: Scalar, const LAST: bool> State for FirstLastState<V, LAST> {
    type Options = bool;
    type Argument = PositionedValue<V>;

    #[inline]
    fn add(&mut self, ignore_nulls: &bool, (position, value): (RowPosition, Option<V::Ref<'_>>)) {
        if value.is_none() && *ignore_nulls {
            return;
        }
        match &mut self.0 {
            Some(row) => {
                let outermost = if LAST {
                    position >= row.position
                } else {
                    position < row.position
                };
                if outermost {
                    row.set(position, value);
                }
            }
            None => self.0 = Some(RowValue::new(position, value)),
        }
    }

    fn merge(&mut self, other: &Self) {
        if let Some(row) = &other.0 {
            self.add(&false, (row.position, row.get()));
        }
    }

    fn lower<'s>(
        _ignore_nulls: &bool,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        Ok(V::column(states.map(|state| state.0.as_ref()?.get())))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        RowValue::save(states.map(|state| state.0.as_ref())).into()
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        Ok(RowValue::load(columns)?.into_iter().map(Self).collect())
    }

    fn sweep(ignore_nulls: &bool, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let (_, values) = PositionedValue::<V>::columns(rows)?;
        let outermost = match (ignore_nulls, LAST) {
            (true, false) => first_valid(values, spans),
            (true, true) => last_valid(values, spans),
            (false, last) => {
                let row = |span: &RowSpan| if last { span.to - 1 } else { span.from };
                spans
                    .iter()
                    .map(|span| (!span.is_empty()).then(|| row(span) as usize))
                    .collect()
            }
        };
        Ok(sweep::gather::<V>(values, outermost))
    }
}

/// The first row of each span that holds a value.
fn first_valid(values: &impl Array, spans: RowSpans<'_>) -> Vec<Option<usize>> {
    let mut next = 0;
    let first = spans.iter().map(|span| {
        next = next.max(span.from);
        while next < span.to && !values.is_valid(next as usize) {
            next += 1;
        }
        (next < span.to).then_some(next as usize)
    });
    first.collect()
}

/// The last row of each span that holds a value.
fn last_valid(values: &impl Array, spans: RowSpans<'_>) -> Vec<Option<usize>> {
    let (mut right, mut latest) = (0, None);
    let last = spans.iter().map(|span| {
        latest = (right.max(span.from)..span.to)
            .rev()
            .find(|&row| values.is_valid(row as usize))
            .or(latest);
        right = right.max(span.to);
        latest
            .filter(|&row| row >= span.from)
            .map(|row| row as usize)
    });
    last.collect()
}
