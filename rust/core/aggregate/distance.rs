//! Distances between values, which variances and similar measures add up.

use super::double_double::DoubleDouble;
use super::total::Summable;

/// A value kind that has distances.
pub(crate) trait Distance: Summable {
    /// Whether the square of a distance can leave the range of floats.
    const EXTREMES: bool;

    /// `self - other`: exact for integers and floats, to 30 digits for decimals.
    fn distance(self, other: Self) -> DoubleDouble;

    /// [`Self::distance`] divided by `2^exponent`. The distance itself may be beyond the largest
    /// float.
    fn distance_over(self, other: Self, exponent: i32) -> DoubleDouble {
        self.distance(other).times_power_of_two(-exponent)
    }

    /// Whether the value is a number.
    fn is_number(self) -> bool;
}

impl Distance for i64 {
    const EXTREMES: bool = false;

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
    const EXTREMES: bool = false;

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
    const EXTREMES: bool = true;

    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        let mut distance = DoubleDouble {
            high: self,
            low: 0.0,
        };
        distance.add(-other);
        distance
    }

    fn distance_over(self, other: Self, exponent: i32) -> DoubleDouble {
        let distance = self.distance(other);
        if distance.high.is_finite() {
            distance.times_power_of_two(-exponent)
        } else {
            (self / 4.0)
                .distance(other / 4.0)
                .times_power_of_two(2 - exponent)
        }
    }

    #[inline]
    fn is_number(self) -> bool {
        self.is_finite()
    }
}
