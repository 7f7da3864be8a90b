//! `variance`, `var_pop`, `stddev`, `stddev_pop`: null over no values, and over one value where a
//! sample is meant (as Spark 4); NaN where a value is NaN or infinite.
//!
//! Sums of distances from one of the window's own values `c`, and of their squares:
//!
//! ```text
//!   S = Σ (x - c)      Q = Σ (x - c)²      variance = (n Q - S S) / (n (n - 1))
//! ```
//!
//! `(c - mean)²` is at most `n` times the variance, whatever the mean is, so the subtraction loses
//! at most a factor of `n`: far from what `DoubleDouble` keeps beyond rule 6.6. Equal values give
//! exactly 0.

use super::argument::Value;
use super::column::{Column, Values};
use super::double_double::DoubleDouble;
use super::scalar::Scalar;
use super::state::{State, StateVec};
use super::total::Summable;
use super::{row_counts, state_columns};
use crate::error::Result;

/// A value kind that has distances.
pub trait Distance: Summable {
    /// `self - other`: exact for integers and floats, to 30 digits for decimals.
    fn distance(self, other: Self) -> DoubleDouble;
    /// Whether the value is a number.
    fn is_number(self) -> bool;
}

impl Distance for i64 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        DoubleDouble::from_integer(i128::from(self) - i128::from(other))
    }

    #[inline]
    fn is_number(self) -> bool {
        true
    }
}

impl Distance for i128 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        match self.checked_sub(other) {
            Some(distance) => DoubleDouble::from_integer(distance),
            None => DoubleDouble::from_integer(self).minus(DoubleDouble::from_integer(other)),
        }
    }

    #[inline]
    fn is_number(self) -> bool {
        true
    }
}

impl Distance for f64 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        let mut distance = DoubleDouble {
            high: self,
            low: 0.0,
        };
        distance.add(-other);
        distance
    }

    #[inline]
    fn is_number(self) -> bool {
        self.is_finite()
    }
}

/// Which measure of spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Whether the values are a whole population, not a sample.
    pub population: bool,
    /// Whether the root of the variance is meant: the standard deviation.
    pub root: bool,
    /// What one unit of the value is divided by: 100 where a decimal has two decimals, else 1.
    pub scale: f64,
}

/// `variance`, `var_pop`, `stddev` or `stddev_pop` of a column.
pub type Variance<V> = StateVec<Moments<V>>;

/// Count, center and sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments<V> {
    count: i64,
    /// A value of the window; one that is not a number where there is such a one.
    center: V,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

impl<V: Distance> Moments<V> {
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
        // Only squares beyond the largest float are not finite here.
        let variance = if quotient.is_finite() {
            quotient.max(0.0)
        } else {
            f64::INFINITY
        };
        Some(if spread.root {
            variance.sqrt() / spread.scale
        } else {
            variance / spread.scale / spread.scale
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
        let distance = value.distance(self.center);
        self.count += 1;
        self.sum.merge(distance);
        self.squares.merge(distance.times(distance));
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            if !other.center.is_number() {
                self.center = other.center;
            }
            // Σ (x - c)² = Σ (x - o)² + 2 (o - c) Σ (x - o) + n (o - c)²
            let (shift, count) = (
                other.center.distance(self.center),
                DoubleDouble::from_integer(other.count.into()),
            );
            let shifts = shift.times(count);
            let twice = DoubleDouble {
                high: 2.0 * other.sum.high,
                low: 2.0 * other.sum.low,
            };
            let mut factor = shifts;
            factor.merge(twice);
            self.count += other.count;
            self.sum.merge(other.sum);
            self.sum.merge(shifts);
            self.squares.merge(other.squares);
            self.squares.merge(shift.times(factor));
        }
    }

    fn lower<'s>(
        spread: &Spread,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        Ok(f64::column(states.map(|state| state.result(spread))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
        let counts = states.clone().map(|state| state.count).collect();
        let floats = |field: fn(&Self) -> f64| {
            Column::new(Values::Float(states.clone().map(field).collect()))
        };
        vec![
            Column::new(Values::Int(counts)),
            V::column(states.clone().map(|state| Some(state.center))),
            floats(|state| state.sum.high),
            floats(|state| state.sum.low),
            floats(|state| state.squares.high),
            floats(|state| state.squares.low),
        ]
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([counts, centers, floats @ ..], _) = state_columns::<6>(columns)?;
        let (counts, centers) = (row_counts(counts)?, V::view(centers)?);
        let [sum_highs, sum_lows, square_highs, square_lows] = floats;
        let (sum_highs, sum_lows) = (f64::view(sum_highs)?, f64::view(sum_lows)?);
        let (square_highs, square_lows) = (f64::view(square_highs)?, f64::view(square_lows)?);
        let state = |(row, count)| Self {
            count,
            center: V::at(centers, row),
            sum: DoubleDouble {
                high: f64::at(sum_highs, row),
                low: f64::at(sum_lows, row),
            },
            squares: DoubleDouble {
                high: f64::at(square_highs, row),
                low: f64::at(square_lows, row),
            },
        };
        Ok(counts.into_iter().enumerate().map(state).collect())
    }
}
