//! `top_k(column, k)`: the most frequent values with their counts, the most frequent first; where counts
//! are equal, the smaller value first and null last. Null counts as a value, as in Spark's
//! `approx_top_k`. An empty list without rows.

use std::cmp::Reverse;

use arrow_array::ArrayRef;

use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::NullableValue;
use crate::core::aggregate::column::{list, side_by_side};
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::list_values::{self, ListValues};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_counts::ValueCounts;
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::aggregate::{row_counts, state_columns};
use crate::core::error::Result;

/// `top_k(column, k)`. The option is `k`.
pub(crate) type TopK<V> = StateVec<TopKState<V>>;

/// `top_k(column, k)`: a list of structs of a value and how often it occurs.
pub(crate) static TOP_K: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ranks: true,
    ..AggregateFunction::new("top_k", |call| {
        let kind = call.value_type(0)?.kind();
        let k = call.most(1)?;
        let result = ResultType::list_of_structs([
            ("item", ResultType::OF_COLUMN),
            ("count", ResultType::INT64.not_null()),
        ]);
        Ok(dispatch_kind!(kind, |V| resolved(
            TopK::<V>::new(k),
            result.not_null()
        )))
    })
};

/// The values, and the number of nulls.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopKState<V> {
    counts: ValueCounts<V>,
    nulls: i64,
}

/// Lists of the most frequent values of windows, one after the other.
struct FrequentValues<'v, V: Scalar> {
    k: usize,
    offsets: Vec<i64>,
    items: Vec<Option<V::Ref<'v>>>,
    counts: Vec<i64>,
}

impl<'v, V: Scalar> FrequentValues<'v, V> {
    fn new(k: usize) -> Self {
        Self {
            k,
            offsets: vec![0],
            items: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Adds the list of a window. The most frequent of its `values` comes first.
    fn push(&mut self, values: Vec<(Option<V::Ref<'v>>, i64)>, nulls: i64) {
        let before = values.partition_point(|(_, count)| *count >= nulls);
        let (more, fewer) = values.split_at(before);
        let null = (nulls > 0).then_some((None, nulls));
        for (item, count) in more
            .iter()
            .copied()
            .chain(null)
            .chain(fewer.iter().copied())
            .take(self.k)
        {
            self.items.push(item);
            self.counts.push(count);
        }
        self.offsets.push(self.items.len() as i64);
    }

    fn column(self) -> ArrayRef {
        let fields = vec![V::column(self.items.into_iter()), i64::dense(self.counts)];
        list(self.offsets, side_by_side(fields))
    }
}

impl<V: Scalar> State for TopKState<V> {
    type Options = usize;
    type Argument = NullableValue<V>;

    fn longest_list(&k: &usize) -> Option<usize> {
        Some(k)
    }

    fn add(&mut self, _k: &usize, value: Option<V::Ref<'_>>) {
        match value {
            Some(value) => self.counts.add(value),
            None => self.nulls += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.nulls += other.nulls;
    }

    fn lower<'s>(k: &usize, states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        let mut lists = FrequentValues::<V>::new(*k);
        for state in states {
            let ascending = state.counts.ascending().into_iter();
            let mut values: Vec<_> = ascending
                .map(|(value, count)| (Some(value), count))
                .collect();
            values.sort_by_key(|(_, count)| Reverse(*count));
            lists.push(values, state.nulls);
        }
        Ok(lists.column())
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let nulls = states.clone().map(|state| state.nulls);
        let mut columns = ValueCounts::save(states.map(|state| &state.counts));
        columns.push(i64::dense(nulls));
        columns
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [_, _, nulls] = state_columns::<3>(columns)?;
        let counts = columns.get(..2).unwrap_or_default();
        let states = ValueCounts::load(counts)?
            .into_iter()
            .zip(row_counts(nulls)?);
        Ok(states
            .map(|(counts, nulls)| Self { counts, nulls })
            .collect())
    }

    fn list_values(&k: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        list_values::of_distinct::<V>(rows, spans, k, size_of::<i64>())
    }

    fn sweep(k: &usize, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let mut lists = FrequentValues::<V>::new(*k);
        let mut lengths = spans.iter().map(|span| span.len() as i64);
        ValueCounts::<V>::sweep(rows, spans, |counts, value| {
            if spans.is_stopped() {
                return;
            }
            let top = counts.top(*k).into_iter();
            let values = top
                .map(|(code, count)| (value(code), count.into()))
                .collect();
            let length = lengths.next().unwrap_or_default();
            lists.push(values, length - i64::from(counts.total()));
        })?;
        Ok(lists.column())
    }
}
