//! `variance`, `var_pop`, `stddev`, `stddev_pop`: null without values, and for a sample over one
//! value (as Spark 4); NaN if a value is NaN or infinite.
//!
//! From [`Moments`]:
//!
//! ```text
//!   S = Σ (x - c)      Q = Σ (x - c)²      variance = (n Q - S S) / (n (n - 1))
//! ```
//!
//! Where squares would leave the range of floats, distances are divided by a power of two above the
//! largest of them.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::moments::{Moments, above};
use crate::core::aggregate::power_of_two::{power_of_two, times_power_of_two};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::dispatch_number;
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
pub(crate) type Variance<V> = StateVec<Moments<V, 2>>;

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
    let exponent = above(distance)?;
    Some(if is_middle(distance) { 0 } else { exponent })
}

/// Adds a value whose distance or sums are outside of [`MIDDLE`].
#[cold]
#[inline(never)]
fn add_extreme<V: Distance>(state: &mut Moments<V, 2>, value: V) {
    if state.center.is_number() {
        let distance = state.divide(value, divisor_of);
        state.add_distance(distance);
    }
}

fn result<V: Distance>(state: &Moments<V, 2>, spread: &Spread) -> Option<f64> {
    let count = state.count;
    let divisor = if spread.population {
        count
    } else {
        count.saturating_sub(1)
    };
    if count <= 0 || divisor <= 0 {
        return None;
    }
    if !state.center.is_number() {
        return Some(f64::NAN);
    }
    let quotient = state.spread().value() / count as f64 / divisor as f64;
    let variance = if quotient < 0.0 { 0.0 } else { quotient };
    Some(if spread.root {
        times_power_of_two(variance.sqrt() / spread.scale, state.exponent)
    } else {
        let variance = variance / spread.scale / spread.scale;
        times_power_of_two(variance, 2 * state.exponent)
    })
}

impl<V: Distance> State for Moments<V, 2> {
    type Options = Spread;
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, _spread: &Spread, value: V) {
        self.count(value);
        let distance = value.distance(self.center);
        if V::EXTREMES && (self.exponent != 0 || !is_middle(distance)) {
            add_extreme(self, value);
        } else {
            self.add_distance(distance);
        }
    }

    fn merge(&mut self, other: &Self) {
        if !self.count_all(other) {
            return;
        }
        let mut other = *other;
        let shift = if V::EXTREMES {
            self.align(&mut other, divisor_of)
        } else {
            other.center.distance(self.center)
        };
        self.merge_sums(&other, shift);
    }

    fn lower<'s>(
        spread: &Spread,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        Ok(f64::column(states.map(|state| result(state, spread))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (head, sums) = Self::save(states);
        head.into_iter().chain(sums.into_iter().flatten()).collect()
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [count, center, exponent, a, b, c, d] = state_columns(columns)?;
        Self::load(([count, center, exponent], [[a, b], [c, d]]))
    }
}
