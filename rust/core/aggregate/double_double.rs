//! Sums of floats in twice the precision, so that neither cancellation nor the order of rows shows in
//! a result (rules 6.6). Dekker 1971, Knuth TAOCP 4.2.2.

use super::power_of_two::times_power_of_two;

/// An unevaluated sum `high + low` of two floats, about 106 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleDouble {
    /// The leading part; alone once it is infinite or NaN.
    pub high: f64,
    /// What `high` leaves over.
    pub low: f64,
}

/// `left + right` as the rounded sum and its exact error.
#[inline]
fn two_sum(left: f64, right: f64) -> (f64, f64) {
    let sum = left + right;
    let virtual_right = sum - left;
    let error = (left - (sum - virtual_right)) + (right - virtual_right);
    (sum, error)
}

/// `value` as two halves of 26 bits each.
#[inline]
fn halves(value: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = SPLITTER * value;
    let high = scaled - (scaled - value);
    (high, value - high)
}

impl DoubleDouble {
    /// An integer: exact up to 106 bits, to 32 digits beyond.
    #[inline]
    pub fn from_integer(value: i128) -> Self {
        let high = value as f64;
        // 2^127 comes back as the largest integer, one less: far below the last bit of `low`.
        Self {
            high,
            low: value.wrapping_sub(high as i128) as f64,
        }
    }

    /// Adds a float.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let (sum, error) = two_sum(self.high, value);
        self.high = sum;
        self.low += error;
    }

    /// Adds another sum.
    #[inline]
    pub fn merge(&mut self, other: Self) {
        self.add(other.high);
        self.low += other.low;
    }

    /// The product of two floats.
    #[inline]
    pub fn product(left: f64, right: f64) -> Self {
        let high = left * right;
        let ((left_high, left_low), (right_high, right_low)) = (halves(left), halves(right));
        let low = ((left_high * right_high - high) + left_high * right_low + left_low * right_high)
            + left_low * right_low;
        // Splitting overflows near the largest floats; the rounded product alone is then the
        // answer.
        Self {
            high,
            low: if low.is_finite() { low } else { 0.0 },
        }
    }

    /// The product of two sums.
    pub fn times(self, other: Self) -> Self {
        let (left, right) = (self.normal(), other.normal());
        let mut product = Self::product(left.high, right.high);
        product.low += left.high * right.low + left.low * right.high;
        product.normal()
    }

    /// `self - other`.
    pub fn minus(self, other: Self) -> Self {
        let mut difference = self;
        difference.merge(Self {
            high: -other.high,
            low: -other.low,
        });
        difference.normal()
    }

    /// The sum times a power of two.
    #[inline]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            high: self.high * factor,
            low: self.low * factor,
        }
    }

    /// The sum times `2^exponent`.
    #[inline]
    pub fn times_power_of_two(self, exponent: i32) -> Self {
        if exponent == 0 {
            return self;
        }
        Self {
            high: times_power_of_two(self.high, exponent),
            low: times_power_of_two(self.low, exponent),
        }
    }

    /// The same sum with as much as fits in `high`.
    pub fn normal(self) -> Self {
        let (high, low) = two_sum(self.high, self.low);
        if high.is_finite() {
            Self { high, low }
        } else {
            Self {
                high: self.high,
                low: 0.0,
            }
        }
    }

    /// The sum, rounded to a float.
    #[inline]
    pub fn value(self) -> f64 {
        let sum = self.high + self.low;
        if sum.is_finite() { sum } else { self.high }
    }
}

#[cfg(test)]
mod tests {
    use super::DoubleDouble;

    fn sum(values: &[f64]) -> DoubleDouble {
        let mut sum = DoubleDouble::default();
        values.iter().for_each(|&value| sum.add(value));
        sum
    }

    #[test]
    fn an_integer_of_106_bits_is_kept() {
        for integer in [0, -1, (1 << 105) + 1, -(1 << 105) - 1, (1 << 53) + 1] {
            let DoubleDouble { high, low } = DoubleDouble::from_integer(integer);
            assert_eq!(high as i128 + low as i128, integer);
        }
        for integer in [i128::MAX, i128::MIN] {
            assert_eq!(DoubleDouble::from_integer(integer).value(), integer as f64);
        }
    }

    #[test]
    fn sums_of_sums_keep_what_cancels() {
        let mut left = sum(&[1e16, 1.0]);
        left.merge(sum(&[1.0, -1e16]));
        assert_eq!(left.value(), 2.0);
        assert_eq!(sum(&[1e16, 3.0]).minus(sum(&[1e16, 1.0])).value(), 2.0);
    }

    #[test]
    fn products_keep_106_bits() {
        // (2^52 + 1)(2^52 - 1) = 2^104 - 1, and (2^54 + 1)^2 = 2^108 + 2^55 + 1 without its last
        // bit.
        let (above, below) = (2_f64.powi(52) + 1.0, 2_f64.powi(52) - 1.0);
        let DoubleDouble { high, low } = DoubleDouble::product(above, below);
        assert_eq!((high, low), (2_f64.powi(104), -1.0));
        let root = sum(&[2_f64.powi(54), 1.0]);
        let DoubleDouble { high, low } = root.times(root);
        assert_eq!((high, low), (2_f64.powi(108), 2_f64.powi(55)));
    }

    #[test]
    fn what_is_no_number_stays_so() {
        assert_eq!(sum(&[1.0, f64::INFINITY, 2.0]).value(), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).value().is_nan());
        assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, 1.0]).value(), f64::MAX);
        assert_eq!(DoubleDouble::product(f64::MAX, 2.0).value(), f64::INFINITY);
        assert_eq!(DoubleDouble::product(f64::MAX, 0.5).value(), f64::MAX / 2.0);
    }
}
