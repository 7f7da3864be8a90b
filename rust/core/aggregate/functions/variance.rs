//! `variance`, `var_pop`, `stddev`, `stddev_pop`: null without values, and for a sample over one
//! value (as Spark 4); NaN if a value is NaN or infinite.
//!
//! Sums of distances from one of the window's own values `c`, and of their squares:
//!
//! ```text
//!   S = Σ (x - c)      Q = Σ (x - c)²      variance = (n Q - S S) / (n (n - 1))
//! ```
//!
//! `(c - mean)²` is at most `n` times the variance for any mean, so the subtraction loses
//! at most a factor of `n`, far less than `DoubleDouble` keeps beyond rule 6.6. Equal values give
//! exactly 0. Where squares would leave the range of floats, distances are divided by a power of
//! two above the largest of them. Smaller distances lose only bits far below the last bit of its
//! square.

use std::ops::Range;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::power_of_two::{
    exponent_of, exponents, power_of_two, times_power_of_two,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::total::Total;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::aggregate::{row_counts, state_columns};
use crate::core::error::Result;

/// Which measure of spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Whether the values are a whole population, not a sample.
    pub population: bool,
    /// Whether the result is the root of the variance, the standard deviation.
    pub root: bool,
    /// The divisor of one unit of the value: 100 for a decimal with two digits after the
    /// point, 1 for integers and floats.
    pub scale: f64,
}

/// `variance`, `var_pop`, `stddev` or `stddev_pop` of a column.
pub(crate) type Variance<V> = StateVec<Moments<V>>;

/// `variance(column)`: `float64`.
pub(crate) static VARIANCE: AggregateFunction =
    AggregateFunction::new("variance", |call| resolve(call, false, false));
/// `var_pop(column)`: `float64`.
pub(crate) static VAR_POP: AggregateFunction =
    AggregateFunction::new("var_pop", |call| resolve(call, true, false));
/// `stddev(column)`: `float64`.
pub(crate) static STDDEV: AggregateFunction =
    AggregateFunction::new("stddev", |call| resolve(call, false, true));
/// `stddev_pop(column)`: `float64`.
pub(crate) static STDDEV_POP: AggregateFunction =
    AggregateFunction::new("stddev_pop", |call| resolve(call, true, true));

fn resolve(call: &FunctionCall<'_>, population: bool, root: bool) -> Result<ResolvedFunction> {
    let (kind, scale) = call.number(0)?;
    let spread = Spread {
        population,
        root,
        scale,
    };
    Ok(dispatch_number!(kind, |V| resolved(
        Variance::<V>::new(spread),
        ResultType::FLOAT64
    )))
}

/// Count, center and sums.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments<V> {
    count: i64,
    /// A value of the window. If a value is not a number, it is such a value.
    center: V,
    /// Distances are divided by 2 to this.
    exponent: i32,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

/// The sizes of distances that need no division: the sum of 2^48 of their squares, times 2^48, is
/// within the range of floats.
const MIDDLE: Range<f64> = power_of_two(-400)..power_of_two(450);

/// Whether a distance needs no division.
#[inline]
fn is_middle(distance: DoubleDouble) -> bool {
    distance.high == 0.0 || MIDDLE.contains(&distance.high.abs())
}

/// The exponent of the power of two that divides a distance; none for zero, which any power
/// divides.
fn divisor_of(distance: DoubleDouble) -> Option<i32> {
    let exponent = exponent_of(distance.high)?;
    Some(if is_middle(distance) { 0 } else { exponent })
}

impl<V: Distance> Moments<V> {
    /// Adds a distance that is divided like the sums.
    #[inline]
    fn add_distance(&mut self, distance: DoubleDouble) {
        self.sum.merge(distance);
        self.squares.merge(distance.times(distance));
    }

    /// Adds a value whose distance or sums are outside of [`MIDDLE`].
    #[cold]
    #[inline(never)]
    fn add_extreme(&mut self, value: V) {
        if self.center.is_number() {
            let exponent = divisor_of(value.distance(self.center));
            self.raise(self.exponent().max(exponent));
            self.add_distance(value.distance_over(self.center, self.exponent));
        }
    }

    /// The exponent of the sums; none if all distances are zero.
    fn exponent(&self) -> Option<i32> {
        let zero = self.sum.high == 0.0 && self.squares.high == 0.0;
        (!zero).then_some(self.exponent)
    }

    /// Divides by a power of two that is not below the current one.
    fn raise(&mut self, exponent: Option<i32>) {
        let exponent = exponent.unwrap_or_default();
        let shift = self.exponent - exponent;
        self.sum = self.sum.times_power_of_two(shift);
        self.squares = self.squares.times_power_of_two(2 * shift);
        self.exponent = exponent;
    }

    fn result(&self, spread: &Spread) -> Option<f64> {
        let count = self.count;
        let divisor = if spread.population {
            count
        } else {
            count.saturating_sub(1)
        };
        if count <= 0 || divisor <= 0 {
            return None;
        }
        if !self.center.is_number() {
            return Some(f64::NAN);
        }
        let squares = DoubleDouble::from_integer(count.into()).times(self.squares);
        let difference = squares.minus(self.sum.times(self.sum)).value();
        let quotient = difference / count as f64 / divisor as f64;
        let variance = if quotient < 0.0 { 0.0 } else { quotient };
        Some(if spread.root {
            times_power_of_two(variance.sqrt() / spread.scale, self.exponent)
        } else {
            let variance = variance / spread.scale / spread.scale;
            times_power_of_two(variance, 2 * self.exponent)
        })
    }
}

impl<V: Distance> State for Moments<V> {
    type Options = Spread;
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, _spread: &Spread, value: V) {
        if self.count == 0 || !value.is_number() {
            self.center = value;
        }
        self.count += 1;
        let distance = value.distance(self.center);
        if V::EXTREMES && (self.exponent != 0 || !is_middle(distance)) {
            self.add_extreme(value);
        } else {
            self.add_distance(distance);
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
        let mut shift = other.center.distance(self.center);
        if V::EXTREMES {
            let exponent = self.exponent().max(other.exponent()).max(divisor_of(shift));
            self.raise(exponent);
            other.raise(exponent);
            shift = other.center.distance_over(self.center, self.exponent);
        }
        // Σ (x - c)² = Σ (x - o)² + 2 (o - c) Σ (x - o) + n (o - c)²
        let shifts = shift.times(DoubleDouble::from_integer(other.count.into()));
        let mut factor = shifts;
        factor.merge(other.sum.scaled(2.0));
        self.sum.merge(other.sum);
        self.sum.merge(shifts);
        self.squares.merge(other.squares);
        self.squares.merge(shift.times(factor));
    }

    fn lower<'s>(
        spread: &Spread,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        Ok(f64::column(states.map(|state| state.result(spread))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
        let integers =
            |field: fn(&Self) -> i64| Column::new(Values::Int(states.clone().map(field).collect()));
        let mut columns = vec![
            integers(|state| state.count),
            V::column(states.clone().map(|state| Some(state.center))),
            integers(|state| state.exponent.into()),
        ];
        columns.extend(DoubleDouble::save(states.clone().map(|state| &state.sum)));
        columns.extend(DoubleDouble::save(states.map(|state| &state.squares)));
        columns
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([counts, centers, exponent_column, sums @ ..], _) = state_columns::<7>(columns)?;
        let (counts, centers) = (row_counts(counts)?, V::view(centers)?);
        let exponents = exponents(exponent_column)?;
        let (sums, squares) = sums.split_at(2);
        let sums = DoubleDouble::load(sums)?
            .into_iter()
            .zip(DoubleDouble::load(squares)?);
        let states = counts.into_iter().zip(exponents).zip(sums).enumerate();
        let state = |(row, ((count, exponent), (sum, squares)))| Self {
            count,
            center: V::at(centers, row),
            exponent,
            sum,
            squares,
        };
        Ok(states.map(state).collect())
    }
}
