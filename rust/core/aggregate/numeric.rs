//! Numbers as floats, for aggregates that take any kind of numbers and give floats.

use super::scalar::Scalar;

/// A kind of numbers.
pub(crate) trait Numeric: for<'a> Scalar<Ref<'a> = Self> + Copy {
    /// The nearest float.
    fn float(self) -> f64;

    /// The value cut to `bits` significant bits, from 1 to 53; the others become zero.
    fn cut(self, bits: u32) -> Self;

    /// A mean as a value, as in Spark: integers are cut at the point, decimals are rounded, ties away
    /// from zero.
    fn of_centre(centre: f64) -> Self;
}

impl Numeric for i64 {
    #[inline]
    fn float(self) -> f64 {
        self as f64
    }

    #[inline]
    fn cut(self, bits: u32) -> Self {
        i128::from(self).cut(bits) as Self
    }

    #[inline]
    fn of_centre(centre: f64) -> Self {
        centre as Self
    }
}

impl Numeric for i128 {
    #[inline]
    fn float(self) -> f64 {
        self as f64
    }

    #[inline]
    fn cut(self, bits: u32) -> Self {
        let size = self.unsigned_abs();
        let surplus = (size.checked_ilog2().unwrap_or_default() + 1).saturating_sub(bits);
        let cut = (size >> surplus << surplus).cast_signed();
        if self < 0 { cut.wrapping_neg() } else { cut }
    }

    #[inline]
    fn of_centre(centre: f64) -> Self {
        centre.round() as Self
    }
}

impl Numeric for f64 {
    #[inline]
    fn float(self) -> f64 {
        self
    }

    #[inline]
    fn cut(self, bits: u32) -> Self {
        // The smallest floats have fewer bits than others.
        if self.is_normal() {
            let surplus = Self::MANTISSA_DIGITS.saturating_sub(bits);
            Self::from_bits(self.to_bits() >> surplus << surplus)
        } else {
            self
        }
    }

    #[inline]
    fn of_centre(centre: f64) -> Self {
        centre
    }
}

#[cfg(test)]
mod tests {
    use super::Numeric;

    #[test]
    fn a_cut_number_is_less_than_its_last_bit_below() {
        assert_eq!(
            [1_000_003, -1_000_003, 255, 0].map(|value: i64| value.cut(8)),
            [999_424, -999_424, 255, 0]
        );
        assert_eq!(
            [i64::MIN, i64::MAX].map(|value| value.cut(1)),
            [i64::MIN, 1 << 62]
        );
        assert_eq!(
            [i128::MIN, i128::MAX].map(|value| value.cut(2)),
            [i128::MIN, 3 << 125]
        );
        assert_eq!(
            [1.999_f64, -1.999, 0.0, 5e-324].map(|value| value.cut(1)),
            [1.0, -1.0, 0.0, 5e-324]
        );
        assert_eq!(
            [f64::MAX, f64::INFINITY].map(|value| value.cut(1)),
            [2_f64.powi(1023), f64::INFINITY]
        );
        assert!(f64::NAN.cut(1).is_nan());
        assert_eq!(0.1_f64.cut(53), 0.1);
    }
}
