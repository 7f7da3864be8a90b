//! `skewness(column)` and `kurtosis(column)` of a population: null without values or equal values; NaN if
//! a value is NaN or infinite.
//!
//! From [`Moments`]:
//!
//! ```text
//!   S₁ = Σ (x - c) … S₄ = Σ (x - c)⁴       M₂ = n S₂ - S₁²       M₃ = n² S₃ - 3 n S₁ S₂ + 2 S₁³
//!   skewness = M₃ / M₂^(3/2)               M₄ = n³ S₄ - 4 n² S₁ S₃ + 6 n S₁² S₂ - 3 S₁⁴
//!   kurtosis = M₄ / M₂² - 3
//! ```
//!
//! Distances are divided by a power of two above the largest of them.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::moments::{Moments, above};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::Result;

/// Which measure of shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// How much longer the tail of larger values is.
    Skewness,
    /// How heavy the tails are, less that of a normal distribution.
    Kurtosis,
}

/// `skewness` or `kurtosis` of a column.
pub(crate) type CentralMoments<V> = StateVec<Moments<V, 4>>;

/// `skewness(column)`: `float64`.
pub(crate) static SKEWNESS: AggregateFunction =
    AggregateFunction::new("skewness", |call| resolve(call, Shape::Skewness));
/// `kurtosis(column)`: `float64`.
pub(crate) static KURTOSIS: AggregateFunction =
    AggregateFunction::new("kurtosis", |call| resolve(call, Shape::Kurtosis));

fn resolve(call: &FunctionCall<'_>, shape: Shape) -> Result<ResolvedFunction> {
    let (kind, _) = call.number(0)?;
    Ok(dispatch_number!(kind, |V| resolved(
        CentralMoments::<V>::new(shape),
        ResultType::FLOAT64
    )))
}

fn total<const N: usize>(terms: [DoubleDouble; N]) -> DoubleDouble {
    let mut total = DoubleDouble::default();
    terms.into_iter().for_each(|term| total.merge(term));
    total.normal()
}

fn result<V: Distance>(state: &Moments<V, 4>, shape: Shape) -> Option<f64> {
    if state.count <= 0 {
        return None;
    }
    if !state.center.is_number() {
        return Some(f64::NAN);
    }
    let ([s1, s2, s3, s4], n) = (state.sums, state.number());
    let (square, m2) = (s1.times(s1), state.spread());
    if m2.value() <= 0.0 {
        return None;
    }
    let times = |number: i64, terms: &[DoubleDouble]| {
        let number = DoubleDouble::from_integer(number.into());
        let terms = terms.iter();
        terms.fold(number, |product, &term| product.times(term))
    };
    Some(match shape {
        Shape::Skewness => {
            let m3 = total([
                times(1, &[n, n, s3]),
                times(-3, &[n, s1, s2]),
                times(2, &[square, s1]),
            ]);
            m3.value() / m2.value() / m2.value().sqrt()
        }
        Shape::Kurtosis => {
            let m4 = total([
                times(1, &[n, n, n, s4]),
                times(-4, &[n, n, s1, s3]),
                times(6, &[n, square, s2]),
                times(-3, &[square, square]),
                // less 3 M₂², before anything is rounded
                times(-3, &[m2, m2]),
            ]);
            m4.value() / m2.value() / m2.value()
        }
    })
}

impl<V: Distance> State for Moments<V, 4> {
    type Options = Shape;
    type Argument = Value<V>;

    fn add(&mut self, _shape: &Shape, value: V) {
        if self.count(value) {
            let distance = self.divide(value, above);
            self.add_distance(distance);
        }
    }

    fn merge(&mut self, other: &Self) {
        if !self.count_all(other) {
            return;
        }
        let mut other = *other;
        let shift = self.align(&mut other, above);
        // Powers of x - c = (x - o) + (o - c), in as many steps as the highest power: each adds to a
        // power the one below times o - c (Horner).
        let (mut below, mut sums) = (other.number(), other.sums);
        for place in 0..sums.len() {
            let mut lower = below;
            for sum in sums.iter_mut().skip(place) {
                let own = *sum;
                sum.merge(shift.times(lower));
                lower = own;
            }
            below = sums.get(place).copied().unwrap_or_default();
        }
        for (sum, other) in self.sums.iter_mut().zip(sums) {
            sum.merge(other);
        }
    }

    fn lower<'s>(
        &shape: &Shape,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        Ok(f64::column(states.map(|state| result(state, shape))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (head, [[a, e], [b, f], [c, g], [d, h]]) = Self::save(states);
        head.into_iter().chain([a, b, c, d, e, f, g, h]).collect()
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [count, center, exponent, a, b, c, d, e, f, g, h] = state_columns(columns)?;
        let sums = [[a, e], [b, f], [c, g], [d, h]];
        Self::load(([count, center, exponent], sums))
    }
}
