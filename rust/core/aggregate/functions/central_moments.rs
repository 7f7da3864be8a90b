//! `skewness(column)` and `kurtosis(column)` of a population: null without values or equal values; NaN if
//! a value is NaN or infinite.
//!
//! Sums of the powers of distances from one of the window's own values, as in
//! [`variance`](super::variance):
//!
//! ```text
//!   S₁ = Σ (x - c) … S₄ = Σ (x - c)⁴       M₂ = n S₂ - S₁²       M₃ = n² S₃ - 3 n S₁ S₂ + 2 S₁³
//!   skewness = M₃ / M₂^(3/2)               M₄ = n³ S₄ - 4 n² S₁ S₃ + 6 n S₁² S₂ - 3 S₁⁴
//!   kurtosis = M₄ / M₂² - 3
//! ```
//!
//! Distances are divided by a power of two above the largest of them, so that no power leaves the
//! range of floats. Smaller distances lose only bits far below the last bit of the largest one.

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::power_of_two::{exponent_of, exponents};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::aggregate::{row_counts, state_columns};
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
pub(crate) type CentralMoments<V> = StateVec<CentralMomentsState<V>>;

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

/// Count, center, and sums of powers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CentralMomentsState<V> {
    count: i64,
    /// A value of the window. If a value is not a number, it is such a value.
    center: V,
    /// Distances are divided by 2 to this.
    exponent: i32,
    /// The sums of distances, of their squares, cubes and fourth powers.
    sums: [DoubleDouble; 4],
}

fn integer(value: i64) -> DoubleDouble {
    DoubleDouble::from_integer(value.into())
}

fn total<const N: usize>(terms: [DoubleDouble; N]) -> DoubleDouble {
    let mut total = DoubleDouble::default();
    terms.into_iter().for_each(|term| total.merge(term));
    total.normal()
}

impl<V: Distance> CentralMomentsState<V> {
    /// The exponent of the sums; none if all distances are zero.
    fn exponent(&self) -> Option<i32> {
        let [_, squares, ..] = self.sums;
        (squares.high != 0.0).then_some(self.exponent)
    }

    /// Divides by a power of two that is not below the current one.
    fn raise(&mut self, exponent: Option<i32>) {
        let exponent = exponent.unwrap_or_default();
        let mut shift = 0;
        for sum in &mut self.sums {
            shift += self.exponent - exponent;
            *sum = sum.times_power_of_two(shift);
        }
        self.exponent = exponent;
    }

    fn result(&self, shape: Shape) -> Option<f64> {
        if self.count <= 0 {
            return None;
        }
        if !self.center.is_number() {
            return Some(f64::NAN);
        }
        self.exponent()?;
        let ([s1, s2, s3, s4], n) = (self.sums.map(DoubleDouble::normal), integer(self.count));
        let square = s1.times(s1);
        let m2 = n.times(s2).minus(square);
        if m2.value() <= 0.0 {
            return None;
        }
        let times = |number: i64, terms: &[DoubleDouble]| {
            terms
                .iter()
                .fold(integer(number), |product, &term| product.times(term))
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
}

impl<V: Distance> State for CentralMomentsState<V> {
    type Options = Shape;
    type Argument = Value<V>;

    fn add(&mut self, _shape: &Shape, value: V) {
        if self.count == 0 || !value.is_number() {
            self.center = value;
        }
        self.count += 1;
        if !self.center.is_number() {
            return;
        }
        let distance = exponent_of(value.distance(self.center).high);
        if distance > self.exponent() {
            self.raise(distance);
        }
        let distance = value.distance_over(self.center, self.exponent).normal();
        let square = distance.times(distance);
        let powers = [
            distance,
            square,
            square.times(distance),
            square.times(square),
        ];
        for (sum, power) in self.sums.iter_mut().zip(powers) {
            sum.merge(power);
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
            return;
        }
        if other.count == 0 {
            return;
        }
        self.count += other.count;
        if !other.center.is_number() {
            self.center = other.center;
        }
        if !self.center.is_number() {
            return;
        }
        let mut other = *other;
        let shift = exponent_of(other.center.distance(self.center).high);
        let exponent = self.exponent().max(other.exponent()).max(shift);
        self.raise(exponent);
        other.raise(exponent);
        // With t = o - c: Σ (x - c)² = Σ (x - o)² + 2 t Σ (x - o) + n t², and so on.
        let shift = other
            .center
            .distance_over(self.center, self.exponent)
            .normal();
        let mut powers = [DoubleDouble::from_integer(1); 5];
        let mut power = DoubleDouble::from_integer(1);
        for slot in powers.iter_mut().skip(1) {
            power = power.times(shift);
            *slot = power;
        }
        let [s1, s2, s3, s4] = other.sums.map(DoubleDouble::normal);
        let theirs = [integer(other.count), s1, s2, s3, s4];
        const BINOMIALS: [[i64; 5]; 4] = [
            [1, 1, 0, 0, 0],
            [1, 2, 1, 0, 0],
            [1, 3, 3, 1, 0],
            [1, 4, 6, 4, 1],
        ];
        for (order, (sum, row)) in self.sums.iter_mut().zip(BINOMIALS).enumerate() {
            let descending = powers.iter().take(order + 2).rev();
            for ((binomial, term), power) in row.into_iter().zip(theirs).zip(descending) {
                sum.merge(integer(binomial).times(term).times(*power));
            }
        }
    }

    fn lower<'s>(
        &shape: &Shape,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        Ok(f64::column(states.map(|state| state.result(shape))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
        let integers =
            |field: fn(&Self) -> i64| Column::new(Values::Int(states.clone().map(field).collect()));
        let floats = |field: fn(&DoubleDouble) -> f64| {
            (0..4).map({
                let states = states.clone();
                move |place| {
                    let sum = |state: &Self| state.sums.get(place).map_or(0.0, field);
                    Column::new(Values::Float(states.clone().map(sum).collect()))
                }
            })
        };
        let mut columns = vec![
            integers(|state| state.count),
            V::column(states.clone().map(|state| Some(state.center))),
            integers(|state| state.exponent.into()),
        ];
        columns.extend(floats(|sum| sum.high));
        columns.extend(floats(|sum| sum.low));
        columns
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([counts, centers, exponent_column, floats @ ..], _) = state_columns::<11>(columns)?;
        let (counts, centers) = (row_counts(counts)?, V::view(centers)?);
        let exponents = exponents(exponent_column)?;
        let floats = floats.iter().map(f64::view).collect::<Result<Vec<_>>>()?;
        let float = |place: usize, row| floats.get(place).map_or(0.0, |view| f64::at(view, row));
        let states = counts.into_iter().zip(exponents).enumerate();
        let state = |(row, (count, exponent))| Self {
            count,
            center: V::at(centers, row),
            exponent,
            sums: std::array::from_fn(|place| DoubleDouble {
                high: float(place, row),
                low: float(place + 4, row),
            }),
        };
        Ok(states.map(state).collect())
    }
}
