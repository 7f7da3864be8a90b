//! `covar_pop`, `covar_samp` and `corr` of two columns, over the rows with a value in both. They are null
//! over no such row, and `covar_samp` and `corr` also over one; NaN if a value is NaN or infinite.
//!
//! Sums of distances from one of the window's own pairs, as in [`variance`](super::variance):
//!
//! ```text
//!   A = Σ (x - c)     B = Σ (y - d)     P = Σ (x - c)(y - d)     covariance = (n P - A B) / n²
//! ```
//!
//! The distances of each column are divided by a power of two above the largest of them.

use crate::core::aggregate::argument::Pair;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::double_double::DoubleDouble;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::power_of_two::{exponent_of, exponents, times_power_of_two};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::total::Total;
use crate::core::aggregate::value_type::dispatch_number;
use crate::core::aggregate::{row_counts, state_columns};
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
    count: i64,
    x: Axis<X>,
    y: Axis<Y>,
    products: DoubleDouble,
}

/// The sums of one column.
#[derive(Clone, Copy, Debug, Default)]
struct Axis<V> {
    /// A value of the window. If a value is not a number, it is such a value.
    center: V,
    /// Distances are divided by 2 to this.
    exponent: i32,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

fn integer(value: i64) -> DoubleDouble {
    DoubleDouble::from_integer(value.into())
}

impl<V: Distance> Axis<V> {
    /// The exponent of the sums; none if all distances are zero.
    fn exponent(&self) -> Option<i32> {
        (self.squares.high != 0.0).then_some(self.exponent)
    }

    /// Divides by a power of two that is not below the current one. Returns the change of the exponent.
    fn raise(&mut self, exponent: Option<i32>) -> i32 {
        let exponent = exponent.unwrap_or_default();
        let shift = self.exponent - exponent;
        self.sum = self.sum.times_power_of_two(shift);
        self.squares = self.squares.times_power_of_two(2 * shift);
        self.exponent = exponent;
        shift
    }

    /// The exponent that the sums need with a value.
    fn exponent_with(&self, value: V) -> Option<i32> {
        let distance = exponent_of(value.distance(self.center).high);
        self.exponent().max(distance)
    }

    fn distance(&self, value: V) -> DoubleDouble {
        value.distance_over(self.center, self.exponent).normal()
    }

    fn add(&mut self, distance: DoubleDouble) {
        self.sum.merge(distance);
        self.squares.merge(distance.times(distance));
    }

    /// Adds the sums of another axis of the same exponent, whose center is `shift` away.
    fn merge(&mut self, other: &Self, count: DoubleDouble, shift: DoubleDouble) {
        let (theirs, shifts) = (other.sum.normal(), shift.times(count));
        self.sum.merge(theirs);
        self.sum.merge(shifts);
        self.squares.merge(other.squares);
        self.squares.merge(shift.times(theirs.scaled(2.0)));
        self.squares.merge(shift.times(shifts));
    }

    /// The variance of `count` values times the square of their number.
    fn variance(&self, count: DoubleDouble) -> f64 {
        let sum = self.sum.normal();
        count.times(self.squares).minus(sum.times(sum)).value()
    }
}

impl<X: Distance, Y: Distance> CovarianceState<X, Y> {
    fn are_numbers(&self) -> bool {
        self.x.center.is_number() && self.y.center.is_number()
    }

    fn raise(&mut self, x: Option<i32>, y: Option<i32>) {
        let shift = self.x.raise(x) + self.y.raise(y);
        self.products = self.products.times_power_of_two(shift);
    }

    fn result(&self, measure: &Measure) -> Option<f64> {
        let Measure { relation, scale } = *measure;
        let least = if relation == Relation::Population {
            1
        } else {
            2
        };
        if self.count < least {
            return None;
        }
        if !self.are_numbers() {
            return Some(f64::NAN);
        }
        let n = integer(self.count);
        let sums = self.x.sum.normal().times(self.y.sum.normal());
        let product = n.times(self.products).minus(sums).value();
        let (count, less) = (self.count as f64, (self.count - 1) as f64);
        let covariance = |divisor: f64| {
            let exponent = self.x.exponent + self.y.exponent;
            times_power_of_two(product / count / divisor, exponent) / scale
        };
        match relation {
            Relation::Population => Some(covariance(count)),
            Relation::Sample => Some(covariance(less)),
            Relation::Correlation => {
                let (x, y) = (self.x.variance(n), self.y.variance(n));
                (x > 0.0 && y > 0.0).then(|| (product / x.sqrt() / y.sqrt()).clamp(-1.0, 1.0))
            }
        }
    }
}

impl<X: Distance, Y: Distance> State for CovarianceState<X, Y> {
    type Options = Measure;
    type Argument = Pair<X, Y>;

    fn add(&mut self, _measure: &Measure, (x, y): (X, Y)) {
        if self.count == 0 || !x.is_number() {
            self.x.center = x;
        }
        if self.count == 0 || !y.is_number() {
            self.y.center = y;
        }
        self.count += 1;
        if !self.are_numbers() {
            return;
        }
        self.raise(self.x.exponent_with(x), self.y.exponent_with(y));
        let (x, y) = (self.x.distance(x), self.y.distance(y));
        self.x.add(x);
        self.y.add(y);
        self.products.merge(x.times(y));
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
        if !other.x.center.is_number() {
            self.x.center = other.x.center;
        }
        if !other.y.center.is_number() {
            self.y.center = other.y.center;
        }
        if !self.are_numbers() {
            return;
        }
        let mut other = *other;
        let x = self.x.exponent_with(other.x.center).max(other.x.exponent());
        let y = self.y.exponent_with(other.y.center).max(other.y.exponent());
        self.raise(x, y);
        other.raise(x, y);
        let count = integer(other.count);
        let (x, y) = (
            self.x.distance(other.x.center),
            self.y.distance(other.y.center),
        );
        // With s = o - c and t = q - d: Σ (x - c)(y - d) =
        // Σ (x - o)(y - q) + s Σ (y - q) + t Σ (x - o) + n s t
        self.products.merge(other.products);
        self.products.merge(x.times(other.y.sum));
        self.products.merge(y.times(other.x.sum));
        self.products.merge(count.times(x).times(y));
        self.x.merge(&other.x, count, x);
        self.y.merge(&other.y, count, y);
    }

    fn lower<'s>(
        measure: &Measure,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<Column<'static>> {
        Ok(f64::column(states.map(|state| state.result(measure))))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<Column<'static>> {
        let integers =
            |field: fn(&Self) -> i64| Column::new(Values::Int(states.clone().map(field).collect()));
        let mut columns = vec![
            integers(|state| state.count),
            X::column(states.clone().map(|state| Some(state.x.center))),
            Y::column(states.clone().map(|state| Some(state.y.center))),
            integers(|state| state.x.exponent.into()),
            integers(|state| state.y.exponent.into()),
        ];
        let sums: [fn(&Self) -> &DoubleDouble; 5] = [
            |state| &state.x.sum,
            |state| &state.y.sum,
            |state| &state.x.squares,
            |state| &state.y.squares,
            |state| &state.products,
        ];
        for sum in sums {
            columns.extend(DoubleDouble::save(states.clone().map(sum)));
        }
        columns
    }

    fn load(columns: &[Column<'_>]) -> Result<Vec<Self>> {
        let ([counts, xs, ys, x_exponents, y_exponents, sums @ ..], _) =
            state_columns::<15>(columns)?;
        let (counts, xs, ys) = (row_counts(counts)?, X::view(xs)?, Y::view(ys)?);
        let exponents = exponents(x_exponents)?
            .into_iter()
            .zip(exponents(y_exponents)?);
        let sums = sums.chunks(2).map(DoubleDouble::load);
        let sums = sums.collect::<Result<Vec<_>>>()?;
        let sum = |place: usize, row: usize| {
            let sum = sums.get(place).and_then(|sums| sums.get(row));
            sum.copied().unwrap_or_default()
        };
        let states = counts.into_iter().zip(exponents).enumerate();
        let state = |(row, (count, (x_exponent, y_exponent)))| Self {
            count,
            x: Axis {
                center: X::at(xs, row),
                exponent: x_exponent,
                sum: sum(0, row),
                squares: sum(2, row),
            },
            y: Axis {
                center: Y::at(ys, row),
                exponent: y_exponent,
                sum: sum(1, row),
                squares: sum(3, row),
            },
            products: sum(4, row),
        };
        Ok(states.map(state).collect())
    }
}
