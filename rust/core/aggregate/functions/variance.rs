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
//! exactly 0. Where squares would leave the range of floats, distances are scaled by [`Magnitude`].

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::distance::{Distance, Magnitude};
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::{Error, Result};

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

/// `variance(column)`: `float64`.
pub static VARIANCE: AggregateFunction =
    AggregateFunction::new("variance", |call| resolve(call, false, false));
/// `var_pop(column)`: `float64`.
pub static VAR_POP: AggregateFunction =
    AggregateFunction::new("var_pop", |call| resolve(call, true, false));
/// `stddev(column)`: `float64`.
pub static STDDEV: AggregateFunction =
    AggregateFunction::new("stddev", |call| resolve(call, false, true));
/// `stddev_pop(column)`: `float64`.
pub static STDDEV_POP: AggregateFunction =
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
pub struct Moments<V> {
    count: i64,
    /// A value of the window; one that is not a number where there is such a one.
    center: V,
    /// The magnitude of the distances, which both sums are scaled by.
    magnitude: Magnitude,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

/// The state column of counts holds the magnitude above this bit. It is 0 in most windows, and in
/// all states of the first version.
const MAGNITUDE_BIT: u32 = 48;

impl<V: Distance> Moments<V> {
    /// Adds the distance of a value, scaled as the sums are.
    #[inline]
    fn add_distance(&mut self, distance: DoubleDouble) {
        self.sum.merge(distance);
        self.squares.merge(distance.times(distance));
    }

    /// The same for a distance that is not of middle magnitude, or comes to such ones.
    #[cold]
    #[inline(never)]
    fn add_extreme(&mut self, value: V) {
        if self.center.is_number() {
            let magnitude = Magnitude::of(value.distance(self.center));
            self.scale_to(self.magnitude_of_sums().max(magnitude));
            self.add_distance(value.scaled_distance(self.center, self.magnitude));
        }
    }

    /// The magnitude of the sums; none where all distances are zero, which are of any magnitude.
    fn magnitude_of_sums(&self) -> Option<Magnitude> {
        let zero = self.sum.high == 0.0 && self.squares.high == 0.0;
        (!zero).then_some(self.magnitude)
    }

    /// Scales the sums to a magnitude that is not below their own.
    fn scale_to(&mut self, magnitude: Option<Magnitude>) {
        let magnitude = magnitude.unwrap_or_default();
        if magnitude != self.magnitude {
            let (from, to) = (1.0 / self.magnitude.factor(), magnitude.factor());
            self.sum = self.sum.scaled(from).scaled(to);
            self.squares = self.squares.scaled(from).scaled(from).scaled(to).scaled(to);
            self.magnitude = magnitude;
        }
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
        // Sums that are not finite are of the first version of states.
        let variance = if quotient.is_finite() {
            quotient.max(0.0)
        } else {
            f64::INFINITY
        };
        let unit = spread.scale * self.magnitude.factor();
        Some(if spread.root {
            variance.sqrt() / unit
        } else {
            variance / unit / unit
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
        if V::EXTREMES
            && !(self.magnitude == Magnitude::Middle && Magnitude::Middle.holds(distance))
        {
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
            let magnitude = self
                .magnitude_of_sums()
                .max(other.magnitude_of_sums())
                .max(Magnitude::of(shift));
            self.scale_to(magnitude);
            other.scale_to(magnitude);
            shift = other.center.scaled_distance(self.center, self.magnitude);
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
        let counts = states
            .clone()
            .map(|state| state.count | state.magnitude.code() << MAGNITUDE_BIT);
        let floats = |field: fn(&Self) -> f64| {
            Column::new(Values::Float(states.clone().map(field).collect()))
        };
        vec![
            Column::new(Values::Int(counts.collect())),
            V::column(states.clone().map(|state| Some(state.center))),
            floats(|state| state.sum.high),
            floats(|state| state.sum.low),
            floats(|state| state.squares.high),
            floats(|state| state.squares.low),
        ]
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([counts, centers, floats @ ..], _) = state_columns::<6>(columns)?;
        let (counts, centers) = (i64::view(counts)?, V::view(centers)?);
        let [sum_highs, sum_lows, square_highs, square_lows] = floats;
        let (sum_highs, sum_lows) = (f64::view(sum_highs)?, f64::view(sum_lows)?);
        let (square_highs, square_lows) = (f64::view(square_highs)?, f64::view(square_lows)?);
        let state = |(row, count): (usize, &i64)| {
            let magnitude = Magnitude::from_code(count >> MAGNITUDE_BIT)
                .filter(|magnitude| V::EXTREMES || *magnitude == Magnitude::Middle)
                .ok_or(Error::Internal(
                    "a state holds an impossible number of rows",
                ))?;
            Ok(Self {
                count: count & ((1 << MAGNITUDE_BIT) - 1),
                center: V::at(centers, row),
                magnitude,
                sum: DoubleDouble {
                    high: f64::at(sum_highs, row),
                    low: f64::at(sum_lows, row),
                },
                squares: DoubleDouble {
                    high: f64::at(square_highs, row),
                    low: f64::at(square_lows, row),
                },
            })
        };
        counts.iter().enumerate().map(state).collect()
    }
}
