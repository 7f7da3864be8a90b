//! Distances between values, as variances take them, and the magnitudes that they are scaled by.

use super::double_double::DoubleDouble;
use super::total::Summable;

/// A value kind that has distances.
pub trait Distance: Summable {
    /// Whether distances can be of another [`Magnitude`] than the middle one.
    const EXTREMES: bool;

    /// `self - other`: exact for integers and floats, to 30 digits for decimals.
    fn distance(self, other: Self) -> DoubleDouble;

    /// [`Self::distance`] times the factor of a magnitude, where the distance itself may be beyond the
    /// largest float.
    fn scaled_distance(self, other: Self, magnitude: Magnitude) -> DoubleDouble;

    /// [`Self::distance`] over `2^exponent`, where the distance itself may be beyond the largest
    /// float.
    fn distance_over(self, other: Self, exponent: i32) -> DoubleDouble {
        self.distance(other).times_power_of_two(-exponent)
    }

    /// Whether the value is a number.
    fn is_number(self) -> bool;
}

/// The magnitude of distances that are added up together.
///
/// ```text
///   |distance|      2^-1074        2^-400          2^450       2^1025
///                      ├──── Low ────┼─── Middle ────┼─── High ────┤
///   times                  2^700             1            2^-600
/// ```
///
/// Times the factor of their magnitude, distances have squares far within the range of floats; so
/// are sums of 2^48 of these, times 2^48. A window is of the magnitude of its largest distance; what
/// smaller ones lose there is far below the last bit of the largest one's square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Magnitude {
    /// Distances whose squares may be below the smallest float.
    Low,
    /// All others.
    #[default]
    Middle,
    /// Distances whose squares may be beyond the largest float.
    High,
}

/// 2^exponent.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

const LEAST_OF_MIDDLE: f64 = power_of_two(-400);
const LEAST_OF_HIGH: f64 = power_of_two(450);

impl Magnitude {
    /// The magnitude of a distance; none of zero, which is of any.
    pub(super) fn of(distance: DoubleDouble) -> Option<Self> {
        let size = distance.high.abs();
        if size == 0.0 {
            None
        } else if size < LEAST_OF_MIDDLE {
            Some(Self::Low)
        } else if size < LEAST_OF_HIGH {
            Some(Self::Middle)
        } else {
            Some(Self::High)
        }
    }

    /// Whether a distance is of this magnitude.
    #[inline]
    pub(super) fn holds(self, distance: DoubleDouble) -> bool {
        let size = distance.high.abs();
        size == 0.0
            || match self {
                Self::Low => size < LEAST_OF_MIDDLE,
                Self::Middle => (LEAST_OF_MIDDLE..LEAST_OF_HIGH).contains(&size),
                Self::High => size >= LEAST_OF_HIGH,
            }
    }

    /// What distances are multiplied by.
    pub(super) const fn factor(self) -> f64 {
        match self {
            Self::Low => power_of_two(700),
            Self::Middle => 1.0,
            Self::High => power_of_two(-600),
        }
    }

    /// The magnitude in saved states.
    pub(super) fn code(self) -> i64 {
        match self {
            Self::Middle => 0,
            Self::Low => 1,
            Self::High => 2,
        }
    }

    /// The magnitude of a code.
    pub(super) fn from_code(code: i64) -> Option<Self> {
        [Self::Low, Self::Middle, Self::High]
            .into_iter()
            .find(|magnitude| magnitude.code() == code)
    }
}

impl Distance for i64 {
    const EXTREMES: bool = false;

    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        DoubleDouble::from_integer(i128::from(self) - i128::from(other))
    }

    fn scaled_distance(self, other: Self, magnitude: Magnitude) -> DoubleDouble {
        self.distance(other).scaled(magnitude.factor())
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

    fn scaled_distance(self, other: Self, magnitude: Magnitude) -> DoubleDouble {
        self.distance(other).scaled(magnitude.factor())
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

    fn scaled_distance(self, other: Self, magnitude: Magnitude) -> DoubleDouble {
        (self * magnitude.factor()).distance(other * magnitude.factor())
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
