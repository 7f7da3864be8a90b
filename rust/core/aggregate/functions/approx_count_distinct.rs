//! `approx_count_distinct(column)`: the approximate number of distinct values, without null; 0 over no
//! values. It is a `HyperLogLog` of Apache `DataSketches`.
//!
//! The estimate uses only its registers (the composite estimate) and not the order in which they were
//! filled, so the result depends only on the set of values. Both zeros count as one value, and so do
//! all NaNs.

use std::marker::PhantomData;

use datasketches::hll::{Coupon, HllSketch, HllType, HllUnion};

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::dispatch_kind;
use crate::core::error::{Error, Result};

/// `approx_count_distinct(column)`.
pub(crate) type ApproxCountDistinct<V> = StateVec<ApproxCountDistinctState<V>>;

/// `approx_count_distinct(column, rsd)`: `int64`. The accuracy is the relative standard deviation.
pub(crate) static APPROX_COUNT_DISTINCT: AggregateFunction = AggregateFunction {
    compares: 0..1,
    ..AggregateFunction::new("approx_count_distinct", |call| {
        let kind = call.value_type(0)?.kind();
        let size = SketchSize::new(call.accuracy(0.05, 0.005..=0.25)?)?;
        Ok(dispatch_kind!(kind, |V| resolved(
            ApproxCountDistinct::<V>::new(size),
            ResultType::INT64.not_null()
        )))
    })
};

/// An empty sketch of the size of a query.
#[derive(Clone)]
pub(crate) struct SketchSize(HllSketch);

impl SketchSize {
    /// The least size whose relative standard deviation is not above `error`.
    pub(crate) fn new(error: f64) -> Result<Self> {
        const CONSTANT: f64 = 1.04;
        let lg_k = (2.0 * (CONSTANT / error).log2()).ceil();
        HllSketch::new(lg_k as u8, HllType::Hll8)
            .map(Self)
            .map_err(|_| Error::Internal("the error of a sketch is out of range"))
    }
}

/// The sketch of the values; none without values.
#[derive(Clone)]
pub(crate) struct ApproxCountDistinctState<V> {
    sketch: Option<HllSketch>,
    values: PhantomData<V>,
}

impl<V> ApproxCountDistinctState<V> {
    fn new(sketch: Option<HllSketch>) -> Self {
        Self {
            sketch,
            values: PhantomData,
        }
    }
}

impl<V> Default for ApproxCountDistinctState<V> {
    fn default() -> Self {
        Self::new(None)
    }
}

impl<V: Scalar> State for ApproxCountDistinctState<V> {
    type Options = SketchSize;
    type Argument = Value<V>;

    fn add(&mut self, SketchSize(empty): &SketchSize, value: V::Ref<'_>) {
        let coupon = Coupon::from_value(V::hash(V::canonical(value)));
        self.sketch
            .get_or_insert_with(|| empty.clone())
            .update_with_coupon(coupon);
    }

    fn merge(&mut self, other: &Self) {
        match (&mut self.sketch, &other.sketch) {
            (_, None) => {}
            (None, Some(sketch)) => self.sketch = Some(sketch.clone()),
            (Some(own), Some(sketch)) => {
                // A union takes every size that a sketch has.
                if let Ok(mut union) = HllUnion::new(own.lg_config_k()) {
                    union.update(own);
                    union.update(sketch);
                    *own = union.to_sketch(HllType::Hll8);
                }
            }
        }
    }

    fn lower<'s>(
        _size: &SketchSize,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        let estimate = |state: &Self| match &state.sketch {
            Some(sketch) => sketch.composite_estimate().round() as i64,
            None => 0,
        };
        Ok(i64::dense(states.map(estimate)))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let sketches: Vec<Option<Vec<u8>>> = states
            .map(|state| state.sketch.as_ref().map(HllSketch::serialize))
            .collect();
        vec![Box::<[u8]>::column(sketches.iter().map(Option::as_deref))]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [column] = state_columns(columns)?;
        let state = |bytes: Option<&[u8]>| {
            let sketch = bytes.map(HllSketch::deserialize).transpose();
            sketch
                .map(Self::new)
                .map_err(|_| Error::Internal("a state holds no sketch of distinct values"))
        };
        Box::<[u8]>::values(column)?.map(state).collect()
    }
}
