//! `count_distinct(column)`: the number of distinct values without null; 0 without values. Both zeros
//! count as one value, and so do all NaNs.

use arrow_array::ArrayRef;

use super::collect_set::CollectSetState;
use crate::core::aggregate::InputRows;
use crate::core::aggregate::argument::Value;
use crate::core::aggregate::composite::Composite;
use crate::core::aggregate::distinct_values::distinct_values;
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec, save_as};
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::error::Result;

/// `count_distinct(column)`.
pub(crate) type CountDistinct<V> = StateVec<CountDistinctState<V>>;

/// `count_distinct(column, ...)`: `int64`. The values of several columns count as one.
pub(crate) static COUNT_DISTINCT: AggregateFunction = AggregateFunction {
    columns: 1..=usize::MAX,
    compares: 0..usize::MAX,
    ..AggregateFunction::new("count_distinct", |call| {
        let result = ResultType::INT64.not_null();
        for position in 1..call.columns.len() {
            call.value_type(position)?;
        }
        let first = call.value_type(0)?;
        if call.columns.len() > 1 {
            let states = Composite::new(CountDistinct::<Box<[u8]>>::default());
            return Ok(resolved(states, result));
        }
        Ok(dispatch_kind!(first.kind(), |V| resolved(
            CountDistinct::<V>::default(),
            result
        )))
    })
};

/// The distinct values.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountDistinctState<V>(CollectSetState<V>);

impl<V: Scalar> State for CountDistinctState<V> {
    type Options = ();
    type Argument = Value<V>;

    fn add(&mut self, (): &(), value: V::Ref<'_>) {
        self.0.add(&(), value);
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        let counts = states.map(|state| state.0.ascending().len() as i64);
        Ok(i64::dense(counts))
    }

    save_as!(CollectSetState<V>);

    fn sweep((): &(), rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        let mut counts = Vec::with_capacity(spans.len());
        distinct_values::<V>(rows, spans, |distinct| counts.push(distinct))?;
        Ok(i64::dense(counts))
    }
}
