//! `product(column)`: a float; null without values. A product may leave the range of floats before
//! the end: 1e300 · 1e300 · 1e-300 is 1e300 in any order.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::function::{AggregateFunction, resolved};
use crate::core::aggregate::numeric::Numeric;
use crate::core::aggregate::power_of_two::{exponent_of, times_power_of_two};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::Result;

/// `product(column)`. The option is what one unit of a value is divided by: 100 for a decimal
/// with two digits after the point, 1 for integers and floats.
pub(crate) type Product<V> = StateVec<ProductState<V>>;

/// `product(column)`: `float64`.
pub(crate) static PRODUCT: AggregateFunction = AggregateFunction::new("product", |call| {
    let (kind, scale) = call.number(0)?;
    Ok(dispatch_number!(kind, |V| resolved(
        Product::<V>::new(scale),
        ResultType::FLOAT64
    )))
});

/// The product `mantissa * 2^exponent`, and whether a value is in it. The mantissa is from 0.5 to
/// below 1 in size, or 0, or not finite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductState<V> {
    mantissa: f64,
    exponent: i64,
    seen: bool,
    values: std::marker::PhantomData<V>,
}

impl<V> Default for ProductState<V> {
    fn default() -> Self {
        Self {
            mantissa: 1.0,
            exponent: 0,
            seen: false,
            values: std::marker::PhantomData,
        }
    }
}

impl<V> ProductState<V> {
    #[inline]
    fn multiply(&mut self, factor: f64, exponent: i64) {
        let product = self.mantissa * factor;
        let own = if product.is_finite() {
            exponent_of(product).unwrap_or_default()
        } else {
            0
        };
        self.mantissa = times_power_of_two(product, -own);
        self.exponent = self
            .exponent
            .saturating_add(exponent)
            .saturating_add(own.into());
        self.seen = true;
    }

    fn result(&self) -> Option<f64> {
        let most = i64::from(i16::MAX);
        let exponent = self.exponent.clamp(-most, most) as i32;
        self.seen
            .then(|| times_power_of_two(self.mantissa, exponent))
    }
}

impl<V: Numeric> State for ProductState<V> {
    type Options = f64;
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, scale: &f64, value: V) {
        let factor = value.float() / scale;
        // A separate exponent for each factor keeps the product of the mantissas within range.
        let exponent = if factor.is_finite() {
            exponent_of(factor).unwrap_or_default()
        } else {
            0
        };
        self.multiply(times_power_of_two(factor, -exponent), exponent.into());
    }

    fn merge(&mut self, other: &Self) {
        if other.seen {
            self.multiply(other.mantissa, other.exponent);
        }
    }

    fn lower<'s>(_scale: &f64, states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(f64::column(states.map(Self::result)))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let mantissas = states
            .clone()
            .map(|state| state.seen.then_some(state.mantissa));
        let exponents = states.map(|state| state.exponent);
        vec![f64::column(mantissas), i64::dense(exponents)]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [mantissas, exponents] = state_columns(columns)?;
        let states = f64::values(mantissas)?.zip(i64::view(exponents)?.values());
        let state = |(mantissa, &exponent): (Option<f64>, &i64)| {
            let mut state = Self::default();
            if let Some(mantissa) = mantissa {
                state.multiply(mantissa, exponent);
            }
            state
        };
        Ok(states.map(state).collect())
    }
}
