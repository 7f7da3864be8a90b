//! Sums of powers of distances from one of a window's own values. `(c - mean)²` is at most `n` times
//! the variance for any value `c`, so what is computed from them loses at most a factor of `n`, far
//! less than [`DoubleDouble`] keeps beyond rule 6.6. Equal values give exactly 0.
//!
//! Distances are divided by a power of two, so that no power leaves the range of floats. Distances
//! that are much smaller lose only bits far below the last bit of the largest one's power.

use arrow_array::ArrayRef;

use super::distance::Distance;
use super::double_double::DoubleDouble;
use super::power_of_two::{exponent_of, exponents};
use super::row_counts;
use super::scalar::Scalar;
use crate::core::error::Result;

/// The number of values, one of them, and the sums of `N` powers of the distances from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments<V, const N: usize> {
    /// The number of values.
    pub count: i64,
    /// A value of the window. If a value is not a number, it is such a value.
    pub center: V,
    /// Distances are divided by 2 to this.
    pub exponent: i32,
    /// The sums of distances, of their squares, and so on.
    pub sums: [DoubleDouble; N],
}

/// The columns of counts, centers and exponents; those of each sum.
pub(super) type MomentColumns<C, const N: usize> = ([C; 3], [[C; 2]; N]);

impl<V: Default, const N: usize> Default for Moments<V, N> {
    fn default() -> Self {
        Self {
            count: 0,
            center: V::default(),
            exponent: 0,
            sums: [DoubleDouble::default(); N],
        }
    }
}

/// The exponent of the least power of two above a distance; none for zero.
pub(super) fn above(distance: DoubleDouble) -> Option<i32> {
    exponent_of(distance.high)
}

impl<V: Distance, const N: usize> Moments<V, N> {
    /// Counts a value. Returns whether its distance is to be added: all values are numbers.
    #[inline]
    pub(super) fn count(&mut self, value: V) -> bool {
        if self.count == 0 || !value.is_number() {
            self.center = value;
        }
        self.count += 1;
        self.center.is_number()
    }

    /// Adds a distance that is divided like the sums.
    #[inline]
    pub(super) fn add_distance(&mut self, distance: DoubleDouble) {
        let mut lower = None::<DoubleDouble>;
        for sum in &mut self.sums {
            let power = lower.map_or(distance, |lower| lower.times(distance));
            sum.merge(power);
            lower = Some(power);
        }
    }

    /// The exponent of the sums; none if all distances are zero.
    pub(super) fn exponent(&self) -> Option<i32> {
        let squares = self.sums.get(1)?;
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

    /// The distance of a value, divided like the sums, which are first divided as far as it needs:
    /// `divisor` gives the exponent.
    pub(super) fn divide(
        &mut self,
        value: V,
        divisor: impl Fn(DoubleDouble) -> Option<i32>,
    ) -> DoubleDouble {
        let exponent = divisor(value.distance(self.center));
        self.raise(self.exponent().max(exponent));
        value.distance_over(self.center, self.exponent)
    }

    /// Counts the values of another state. Returns whether its sums are to be added.
    pub(super) fn count_all(&mut self, other: &Self) -> bool {
        if self.count == 0 {
            *self = *other;
            return false;
        }
        if other.count == 0 {
            return false;
        }
        self.count += other.count;
        if !other.center.is_number() {
            self.center = other.center;
        }
        self.center.is_number()
    }

    /// Divides both by the same power of two. Returns how far the other's center is from this one.
    pub(super) fn align(
        &mut self,
        other: &mut Self,
        divisor: impl Fn(DoubleDouble) -> Option<i32>,
    ) -> DoubleDouble {
        let shift = divisor(other.center.distance(self.center));
        let exponent = self.exponent().max(other.exponent()).max(shift);
        self.raise(exponent);
        other.raise(exponent);
        other.center.distance_over(self.center, self.exponent)
    }

    /// The number of values.
    pub(super) fn number(&self) -> DoubleDouble {
        DoubleDouble::from_integer(self.count.into())
    }

    /// n Σ (x - c)² - (Σ (x - c))²: the variance times the square of the number of values.
    pub(super) fn spread(&self) -> DoubleDouble {
        let sum = |place| self.sums.get(place).copied().unwrap_or_default();
        let squares = self.number().times(sum(1));
        squares.minus(sum(0).times(sum(0)))
    }

    pub(super) fn save<'s>(
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> MomentColumns<ArrayRef, N> {
        let integers = |field: fn(&Self) -> i64| i64::dense(states.clone().map(field));
        let center = V::column(states.clone().map(|state| Some(state.center)));
        let head = [
            integers(|state| state.count),
            center,
            integers(|state| state.exponent.into()),
        ];
        let sums = std::array::from_fn(|place| {
            let sums = states.clone().map(|state| state.sums.get(place));
            [|sum: &DoubleDouble| sum.high, |sum: &DoubleDouble| sum.low]
                .map(|part| f64::column(sums.clone().map(|sum| sum.map(part))))
        });
        (head, sums)
    }

    /// Reads what [`Self::save`] wrote.
    pub(super) fn load(columns: MomentColumns<&ArrayRef, N>) -> Result<Vec<Self>> {
        let ([counts, centers, exponent_column], sums) = columns;
        let centers = V::view(centers)?;
        let parts = sums.into_iter().flatten().map(f64::view);
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let part = |place: usize, row| parts.get(place).map_or(0.0, |part| f64::at(part, row));
        let counts = row_counts(counts)?.into_iter();
        let states = counts.zip(exponents(exponent_column)?).enumerate();
        let state = |(row, (count, exponent))| Self {
            count,
            center: V::at(centers, row),
            exponent,
            sums: std::array::from_fn(|place| DoubleDouble {
                high: part(2 * place, row),
                low: part(2 * place + 1, row),
            }),
        };
        Ok(states.map(state).collect())
    }
}

impl<V: Distance> Moments<V, 2> {
    /// Adds the sums of another state with the same exponent, whose center is `shift` away.
    pub(super) fn merge_sums(&mut self, other: &Self, shift: DoubleDouble) {
        let ([sum, squares], [own_sum, own_squares]) = (other.sums, &mut self.sums);
        // Σ (x - c)² = Σ (x - o)² + (o - c) (n (o - c) + 2 Σ (x - o))
        let shifts = shift.times(other.number());
        let mut factor = shifts;
        factor.merge(sum.scaled(2.0));
        own_sum.merge(sum);
        own_sum.merge(shifts);
        own_squares.merge(squares);
        own_squares.merge(shift.times(factor));
    }
}
