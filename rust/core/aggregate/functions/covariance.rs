//! `covar_pop`, `covar_samp` and `corr` of two columns, over the rows with a value in both. They are null
//! over no such row, and `covar_samp` and `corr` also over one; NaN if a value is NaN or infinite.
//!
//! From [`Moments`] of both columns:
//!
//! ```text
//!   A = Σ (x - c)     B = Σ (y - d)     P = Σ (x - c)(y - d)     covariance = (n P - A B) / n²
//! ```
//!
//! The distances of each column are divided by a power of two above the largest of them.

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Pair;
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::moments::{Moments, above};
use crate::core::aggregate::power_of_two::times_power_of_two;
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::total::Total;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::error::Result;

/// Which measure of two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The covariance of a population.
    Population,
    /// The covariance of a sample.
    Sample,
    /// The correlation of Pearson.
    Correlation,
}

/// The measure of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measure {
    /// The measure.
    pub relation: Relation,
    /// The divisor of one unit of a product: 100 for two decimals with one digit after the point
    /// each, 1 for integers and floats.
    pub scale: f64,
}

/// `covar_pop`, `covar_samp` or `corr` of two columns.
pub(crate) type Covariance<X, Y> = StateVec<CovarianceState<X, Y>>;

/// `covar_pop(column, other)`: `float64`.
pub(crate) static COVAR_POP: AggregateFunction = AggregateFunction {
    columns: 2..=2,
    ..AggregateFunction::new("covar_pop", |call| resolve(call, Relation::Population))
};
/// `covar_samp(column, other)`: `float64`.
pub(crate) static COVAR_SAMP: AggregateFunction = AggregateFunction {
    columns: 2..=2,
    ..AggregateFunction::new("covar_samp", |call| resolve(call, Relation::Sample))
};
/// `corr(column, other)`: `float64`.
pub(crate) static CORR: AggregateFunction = AggregateFunction {
    columns: 2..=2,
    ..AggregateFunction::new("corr", |call| resolve(call, Relation::Correlation))
};

fn resolve(call: &FunctionCall<'_>, relation: Relation) -> Result<ResolvedFunction> {
    let ((x, x_scale), (y, y_scale)) = (call.number(0)?, call.number(1)?);
    let measure = Measure {
        relation,
        scale: x_scale * y_scale,
    };
    Ok(dispatch_number!(x, |X| dispatch_number!(y, |Y| resolved(
        Covariance::<X, Y>::new(measure),
        ResultType::FLOAT64
    ))))
}

/// The sums of two columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CovarianceState<X, Y> {
    x: Moments<X, 2>,
    y: Moments<Y, 2>,
    /// Divided by the powers of two of both.
    products: DoubleDouble,
}

impl<X: Distance, Y: Distance> CovarianceState<X, Y> {
    /// Products are divided by 2 to this.
    fn exponent(&self) -> i32 {
        self.x.exponent + self.y.exponent
    }

    fn result(&self, measure: &Measure) -> Option<f64> {
        let Measure { relation, scale } = *measure;
        let least = if relation == Relation::Population {
            1
        } else {
            2
        };
        if self.x.count < least {
            return None;
        }
        if !self.x.center.is_number() || !self.y.center.is_number() {
            return Some(f64::NAN);
        }
        let ([x_sum, _], [y_sum, _]) = (self.x.sums, self.y.sums);
        let products = self.x.number().times(self.products);
        let product = products.minus(x_sum.times(y_sum)).value();
        let (count, less) = (self.x.count as f64, (self.x.count - 1) as f64);
        let covariance =
            |divisor: f64| times_power_of_two(product / count / divisor, self.exponent()) / scale;
        match relation {
            Relation::Population => Some(covariance(count)),
            Relation::Sample => Some(covariance(less)),
            Relation::Correlation => {
                let (x, y) = (self.x.spread().value(), self.y.spread().value());
                (x > 0.0 && y > 0.0).then(|| (product / x.sqrt() / y.sqrt()).clamp(-1.0, 1.0))
            }
        }
    }
}

impl<X: Distance, Y: Distance> State for CovarianceState<X, Y> {
    type Options = Measure;
    type Argument = Pair<X, Y>;

    fn add(&mut self, _measure: &Measure, (x, y): (X, Y)) {
        if !(self.x.count(x) & self.y.count(y)) {
            return;
        }
        let exponent = self.exponent();
        let (x, y) = (self.x.divide(x, above), self.y.divide(y, above));
        self.products = self.products.times_power_of_two(exponent - self.exponent());
        self.x.add_distance(x);
        self.y.add_distance(y);
        self.products.merge(x.times(y));
    }

    fn merge(&mut self, other: &Self) {
        if self.x.count == 0 {
            *self = *other;
            return;
        }
        if !(self.x.count_all(&other.x) & self.y.count_all(&other.y)) {
            return;
        }
        let (exponent, mut aligned) = (self.exponent(), *other);
        let x = self.x.align(&mut aligned.x, above);
        let y = self.y.align(&mut aligned.y, above);
        let aligned_to = self.exponent();
        let divided = |products: DoubleDouble, exponent: i32| {
            products.times_power_of_two(exponent - aligned_to)
        };
        // With s = o - c and t = q - d: Σ (x - c)(y - d) =
        // Σ (x - o)(y - q) + s Σ (y - q) + t Σ (x - o) + n s t
        let ([x_sum, _], [y_sum, _]) = (aligned.x.sums, aligned.y.sums);
        self.products = divided(self.products, exponent);
        self.products
            .merge(divided(other.products, other.exponent()));
        self.products.merge(x.times(y_sum));
        self.products.merge(y.times(x_sum));
        self.products.merge(other.x.number().times(x).times(y));
        self.x.merge_sums(&aligned.x, x);
        self.y.merge_sums(&aligned.y, y);
    }

    fn lower<'s>(
        measure: &Measure,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef> {
        Ok(f64::column(states.map(|state| state.result(measure))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let products = DoubleDouble::save(states.clone().map(|state| &state.products));
        let ([count, x, x_exponent], [a, c]) = Moments::save(states.clone().map(|state| &state.x));
        let ([_, y, y_exponent], [b, d]) = Moments::save(states.map(|state| &state.y));
        let head = [count, x, y, x_exponent, y_exponent].into_iter();
        let sums = [a, b, c, d].into_iter().flatten();
        head.chain(sums).chain(products).collect()
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [count, x, y, x_exponent, y_exponent, sums @ ..] = state_columns::<15>(columns)?;
        let [a, b, c, d, e, f, g, h, products @ ..] = sums;
        let xs = Moments::load(([count, x, x_exponent], [[a, b], [e, f]]))?.into_iter();
        let ys = Moments::load(([count, y, y_exponent], [[c, d], [g, h]]))?.into_iter();
        let states = xs.zip(ys).zip(DoubleDouble::load(products)?);
        let state = |((x, y), products)| Self { x, y, products };
        Ok(states.map(state).collect())
    }
}
