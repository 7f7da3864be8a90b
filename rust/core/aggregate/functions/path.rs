//! `path(column)`: the values by event time, ties by arrival, without those that repeat the one before. An
//! empty list without values; nulls are left out.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::{Argument, PositionedValue, Value};
use crate::core::aggregate::column::list;
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::functions::collect_list::{CollectListState, sorted};
use crate::core::aggregate::list_values::ListValues;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{InputRows, RowPosition, RowSpan};
use crate::core::error::Result;

/// `path(column)`. The option is the largest length.
pub(crate) type Path<V> = StateVec<PathState<V>>;

/// `path(column)`: a list.
pub(crate) static PATH: AggregateFunction = AggregateFunction {
    is_ordered: true,
    compares: 0..1,
    ..AggregateFunction::new("path", |call| {
        let most = call.options.most.map(|_| call.most(1)).transpose()?;
        let item = ResultType::OF_COLUMN.not_null();
        Ok(dispatch_kind!(call.value_type(0)?.kind(), |V| resolved(
            Path::<V>::new(most.unwrap_or(usize::MAX)),
            ResultType::list(item).not_null()
        )))
    })
};

/// All values with their positions: between two equal ones a merge may bring another.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathState<V: Scalar>(CollectListState<V>);

/// Calls `visit` for each value that does not repeat the one before, up to `most`.
fn walk<'a, V: Scalar, I: Copy>(
    values: impl Iterator<Item = (I, V::Ref<'a>)>,
    most: usize,
    mut visit: impl FnMut(I),
) {
    let (mut last, mut length) = (None, 0);
    for (item, value) in values {
        if length == most {
            return;
        }
        if last.is_none_or(|last| V::compare(last, value).is_ne()) {
            visit(item);
            length += 1;
        }
        last = Some(value);
    }
}

impl<V: Scalar> State for PathState<V> {
    type Options = usize;
    type Argument = PositionedValue<V>;

    fn kept_rows(_most: &usize) -> usize {
        usize::MAX
    }

    fn longest_list(&most: &usize) -> Option<usize> {
        Some(most)
    }

    #[inline]
    fn add(&mut self, _most: &usize, row: (RowPosition, Option<V::Ref<'_>>)) {
        self.0.add(&false, row);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>(
        &most: &usize,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let (ends, items) = sorted(states.map(|state| &state.0));
        let (mut offsets, mut steps) = (vec![0], Vec::new());
        for list in ends.windows(2) {
            let &[from, to] = list else { continue };
            let own = items.get(from as usize..to as usize).unwrap_or_default();
            let own = own
                .iter()
                .filter_map(|item| Some((item.get()?, item.get()?)));
            walk::<V, _>(own, most, |value| steps.push(value));
            offsets.push(steps.len() as i64);
        }
        Ok(list(offsets, V::dense(steps)))
    }

    save_as!(CollectListState<V>);

    fn list_values(&most: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        let mut values = 0_usize;
        each_step::<V>(most, rows, spans, |_| values += 1, || ())?;
        Ok(ListValues::of(values, rows, 0))
    }

    fn sweep(&most: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let columns = Value::<V>::columns(rows)?;
        let (mut offsets, steps) = (vec![0], std::cell::RefCell::new(Vec::new()));
        each_step::<V>(
            most,
            rows,
            spans,
            |row| steps.borrow_mut().push(row),
            || offsets.push(steps.borrow().len() as i64),
        )?;
        let steps = steps.into_inner().into_iter();
        let elements = V::column(steps.map(|row| Value::<V>::get(columns, row)));
        Ok(list(offsets, elements))
    }
}

/// Calls `visit` for each row that is a step of a span's path, and `end` after each span.
fn each_step<V: Scalar>(
    most: usize,
    rows: InputRows<'_>,
    spans: RowSpans<'_>,
    mut visit: impl FnMut(usize),
    mut end: impl FnMut(),
) -> Result<()> {
    let columns = Value::<V>::columns(rows)?;
    for &RowSpan { from, to } in spans.stretches().flatten() {
        let rows = from as usize..to as usize;
        let values = rows.filter_map(|row| Some((row, Value::<V>::get(columns, row)?)));
        walk::<V, _>(values, most, &mut visit);
        end();
    }
    Ok(())
}
