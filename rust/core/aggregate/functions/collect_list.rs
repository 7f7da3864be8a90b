//! `collect_list(column)`: all values by event time, ties by arrival; an empty list without values, as in
//! Spark. Nulls are left out unless the query keeps them.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};

use crate::core::aggregate::argument::{Argument, PositionedValue, Value};
use crate::core::aggregate::column::{Lists, list};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::list_values::ListValues;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::row_value::RowValue;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{InputRows, RowPosition, RowSpan, state_columns};
use crate::core::error::Result;

/// `collect_list(column)`. The option is whether nulls are kept.
pub(crate) type CollectList<V> = StateVec<CollectListState<V>>;

/// `collect_list(column)`: a list.
pub(crate) static COLLECT_LIST: AggregateFunction = AggregateFunction {
    is_ordered: true,
    ..AggregateFunction::new("collect_list", |call| {
        let keep_nulls = call.options.keep_nulls;
        let item = ResultType {
            nullable: keep_nulls,
            ..ResultType::OF_COLUMN
        };
        Ok(dispatch_kind!(call.value_type(0)?.kind(), |V| resolved(
            CollectList::<V>::new(keep_nulls),
            ResultType::list(item).not_null()
        )))
    })
};

/// Values with the positions of their rows, in any order; sorted when they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectListState<V: Scalar>(Vec<RowValue<V>>);

/// The items of states, list after list, each sorted; and where each list starts.
pub(super) fn sorted<'s, V: Scalar>(
    states: impl Iterator<Item = &'s CollectListState<V>>,
) -> (Vec<i64>, Vec<&'s RowValue<V>>) {
    let (mut offsets, mut items) = (vec![0], Vec::new());
    for state in states {
        let start = items.len();
        items.extend(&state.0);
        if let Some(list) = items.get_mut(start..) {
            // Runs of sorted items, as merging leaves them, are found by the sort.
            list.sort_by_key(|item| item.position);
        }
        offsets.push(items.len() as i64);
    }
    (offsets, items)
}

fn values<V: Scalar>(items: &[&RowValue<V>]) -> ArrayRef {
    V::column(items.iter().map(|item| item.get()))
}

impl<V: Scalar> State for CollectListState<V> {
    type Options = bool;
    type Argument = PositionedValue<V>;

    fn kept_rows(_keep_nulls: &bool) -> usize {
        usize::MAX
    }

    fn longest_list(_keep_nulls: &bool) -> Option<usize> {
        Some(usize::MAX)
    }

    #[inline]
    fn add(&mut self, &keep_nulls: &bool, (position, value): (RowPosition, Option<V::Ref<'_>>)) {
        if value.is_some() || keep_nulls {
            self.0.push(RowValue::new(position, value));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    fn lower<'s>(
        _keep_nulls: &bool,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let (offsets, items) = sorted(states);
        Ok(list(offsets, values(&items)))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (offsets, items) = sorted(states);
        RowValue::save(items.into_iter().map(Some))
            .map(|column| list(offsets.clone(), column))
            .into()
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [times, seq_nos, values] = state_columns(columns)?;
        let (times, seq_nos, values) = (Lists::of(times)?, Lists::of(seq_nos)?, Lists::of(values)?);
        let row = RowValue::reader([times, seq_nos, values].map(|lists| lists.elements))?;
        let state = |own: Range<usize>| Self(own.filter_map(&row).collect());
        Ok(times.ranges(&[seq_nos, values])?.map(state).collect())
    }

    fn list_values(
        _keep_nulls: &bool,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ListValues> {
        let lengths = spans.iter().map(RowSpan::len);
        let values = lengths.fold(0, usize::saturating_add);
        Ok(ListValues::of(values, rows, 0))
    }

    fn sweep(&keep_nulls: &bool, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let values = Value::<V>::columns(rows)?;
        let valid = |span: &RowSpan| {
            (span.from as usize..span.to as usize).filter(|&row| keep_nulls || values.is_valid(row))
        };
        let (mut offsets, mut end) = (vec![0], 0);
        for span in spans.iter() {
            end += valid(span).count() as i64;
            offsets.push(end);
        }
        let elements = spans.iter().flat_map(valid);
        Ok(list(
            offsets,
            V::column(elements.map(|row| Value::<V>::get(values, row))),
        ))
    }
}
