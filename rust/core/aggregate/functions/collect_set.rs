//! `collect_set(column)`: the distinct values without null; an empty list without values. They ascend, so
//! that the result does not depend on the order of rows. Both zeros count as 0.0, and all NaNs as one
//! value.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::{Argument, Value};
use crate::core::aggregate::column::{Lists, list};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::list_values::{self, ListValues};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_dictionary::Dictionary;
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{InputRows, state_columns, sweep};
use crate::core::error::Result;

/// `collect_set(column)`.
pub(crate) type CollectSet<V> = StateVec<CollectSetState<V>>;

/// `collect_set(column)`: a list.
pub(crate) static COLLECT_SET: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ..AggregateFunction::new("collect_set", |call| {
        Ok(dispatch_kind!(call.value_type(0)?.kind(), |V| resolved(
            CollectSet::<V>::default(),
            ResultType::list(ResultType::OF_COLUMN.not_null()).not_null()
        )))
    })
};

/// Ascending values without repeats, and a tail of values that are not among them.
///
/// ```text
///   a  c  f  k  │  d  b  d          the tail is sorted in when it outgrows what is before it
///   0        sorted     len
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectSetState<V> {
    values: Vec<V>,
    sorted: usize,
}

impl<V: Scalar> CollectSetState<V> {
    /// A shorter tail is not sorted.
    const TAIL: usize = 8;

    fn insert(&mut self, value: V::Ref<'_>) {
        let sorted = self.values.get(..self.sorted).unwrap_or_default();
        let found = sorted
            .binary_search_by(|other| V::compare(other.get(), value))
            .is_ok()
            || self
                .values
                .last()
                .is_some_and(|last| V::compare(last.get(), value).is_eq());
        if !found {
            self.values.push(V::from_ref(value));
            if self.values.len() - self.sorted > self.sorted.max(Self::TAIL) {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        self.values
            .sort_unstable_by(|left, right| V::compare(left.get(), right.get()));
        self.values
            .dedup_by(|left, right| V::compare(left.get(), right.get()).is_eq());
        self.sorted = self.values.len();
    }

    /// The values, each once.
    pub(super) fn ascending(&self) -> Vec<V::Ref<'_>> {
        let mut values: Vec<V::Ref<'_>> = self.values.iter().map(V::get).collect();
        if self.sorted < values.len() {
            values.sort_unstable_by(|&left, &right| V::compare(left, right));
            values.dedup_by(|left, right| V::compare(*left, *right).is_eq());
        }
        values
    }
}

fn column<'s, V: Scalar>(states: impl Iterator<Item = &'s CollectSetState<V>>) -> ArrayRef {
    let (mut offsets, mut values) = (vec![0], Vec::new());
    for state in states {
        values.extend(state.ascending());
        offsets.push(values.len() as i64);
    }
    list(offsets, V::dense(values))
}

impl<V: Scalar> State for CollectSetState<V> {
    type Options = ();
    type Argument = Value<V>;

    fn longest_list((): &()) -> Option<usize> {
        Some(usize::MAX)
    }

    fn add(&mut self, (): &(), value: V::Ref<'_>) {
        self.insert(V::canonical(value));
    }

    fn merge(&mut self, other: &Self) {
        other
            .values
            .iter()
            .for_each(|value| self.insert(value.get()));
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(column(states))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        vec![column(states)]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [lists] = state_columns(columns)?;
        let lists = Lists::of(lists)?;
        let view = V::view(lists.elements)?;
        let value = |element| V::from_ref(V::canonical(V::at(view, element)));
        let state = |own: Range<usize>| {
            let mut state = Self {
                values: own.map(value).collect(),
                sorted: 0,
            };
            state.sort();
            state
        };
        Ok(lists.ranges(&[])?.map(state).collect())
    }

    fn list_values((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        list_values::of_distinct::<V>(rows, spans, usize::MAX, 0)
    }

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let values = Value::<V>::columns(rows)?;
        let dictionary = Dictionary::new::<V>(values, &spans);
        let (mut offsets, mut elements) = (vec![0], Vec::new());
        let code = |row: usize| dictionary.code(row);
        sweep::subtract_on_evict(
            spans,
            &mut WindowCodes {
                counts: vec![0; dictionary.len()],
                ascending: Vec::new(),
            },
            |window, row| code(row).into_iter().for_each(|code| window.insert(code)),
            |window, row| code(row).into_iter().for_each(|code| window.evict(code)),
            |window| {
                elements.extend_from_slice(&window.ascending);
                offsets.push(elements.len() as i64);
            },
        );
        let value = |code| dictionary.value::<V>(values, code).map(V::canonical);
        Ok(list(offsets, V::column(elements.into_iter().map(value))))
    }
}

/// The codes of the values in a window.
struct WindowCodes {
    /// The number of rows in the window with each code.
    counts: Vec<u32>,
    /// The codes that have rows.
    ascending: Vec<u32>,
}

impl WindowCodes {
    fn insert(&mut self, code: u32) {
        let Some(count) = self.counts.get_mut(code as usize) else {
            return;
        };
        *count += 1;
        if let (1, Err(position)) = (*count, self.ascending.binary_search(&code)) {
            self.ascending.insert(position, code);
        }
    }

    fn evict(&mut self, code: u32) {
        let Some(count) = self.counts.get_mut(code as usize) else {
            return;
        };
        *count -= 1;
        if let (0, Ok(position)) = (*count, self.ascending.binary_search(&code)) {
            self.ascending.remove(position);
        }
    }
}
