//! `mode(column)`: the value that occurs most often, the smallest of several; null without values.

use arrow_array::ArrayRef;

use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::Value;
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_counts::ValueCounts;
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::error::Result;

/// `mode(column)`.
pub(crate) type Mode<V> = StateVec<ModeState<V>>;

/// `mode(column)`: the column's type.
pub(crate) static MODE: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ranks: true,
    ..AggregateFunction::new("mode", |call| {
        Ok(dispatch_kind!(call.value_type(0)?.kind(), |V| resolved(
            Mode::<V>::default(),
            ResultType::OF_COLUMN
        )))
    })
};

/// The values.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModeState<V>(ValueCounts<V>);

impl<V: Scalar> ModeState<V> {
    fn result(&self) -> Option<V::Ref<'_>> {
        let mut best: Option<(V::Ref<'_>, i64)> = None;
        for (value, count) in self.0.ascending() {
            if best.is_none_or(|(_, most)| count > most) {
                best = Some((value, count));
            }
        }
        best.map(|(value, _)| value)
    }
}

impl<V: Scalar> State for ModeState<V> {
    type Options = ();
    type Argument = Value<V>;

    fn add(&mut self, (): &(), value: V::Ref<'_>) {
        self.0.add(value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(V::column(states.map(Self::result)))
    }

    save_as!(ValueCounts<V>);

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let mut modes = Vec::with_capacity(spans.len());
        ValueCounts::<V>::sweep(rows, spans, |counts, value| {
            let code = (counts.total() > 0).then(|| counts.most_frequent());
            modes.push(code.and_then(value));
        })?;
        Ok(V::column(modes.into_iter()))
    }
}
