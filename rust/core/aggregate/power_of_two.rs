//! Powers of two that scale floats, so that products of many stay within the range of floats.

use arrow_array::ArrayRef;

use super::scalar::Scalar;
use crate::core::error::{Error, Result};

/// 2^exponent, a normal float.
pub(super) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The largest exponent of one step.
const STEP: i32 = 1000;

/// Beyond this every float is 0 or infinite.
const MOST: i32 = 4 * STEP;

/// The least exponent with `|value| < 2^exponent`; none for zero and NaN. An infinite value counts as
/// one just beyond the largest float.
#[inline]
pub(super) fn exponent_of(value: f64) -> Option<i32> {
    const BIAS: i32 = 1022;
    if value == 0.0 || value.is_nan() {
        return None;
    }
    let exponent = |value: f64| (value.to_bits() >> 52 & 0x7ff) as i32 - BIAS;
    Some(if value.is_subnormal() {
        exponent(value * power_of_two(64)) - 64
    } else {
        exponent(value)
    })
}

/// `value * 2^exponent`.
#[inline]
pub(super) fn times_power_of_two(value: f64, exponent: i32) -> f64 {
    let mut rest = exponent.clamp(-MOST, MOST);
    let mut scaled = value;
    while rest != 0 {
        let step = rest.clamp(-STEP, STEP);
        scaled *= power_of_two(step);
        rest -= step;
    }
    scaled
}

/// The exponents in a state column.
pub(super) fn exponents(column: &ArrayRef) -> Result<Vec<i32>> {
    let exponent = |&exponent: &i64| {
        let allowed = (-1100..=1100).contains(&exponent);
        allowed.then_some(exponent as i32)
    };
    let exponents = i64::view(column)?.values().iter().map(exponent);
    exponents
        .collect::<Option<_>>()
        .ok_or(Error::Internal("a state holds an impossible exponent"))
}

#[cfg(test)]
mod tests {
    use super::{exponent_of, times_power_of_two};

    #[test]
    fn an_exponent_is_the_least_above_the_value() {
        for (value, exponent) in [
            (1.0, 1),
            (0.99, 0),
            (0.5, 0),
            (-4.0, 3),
            (f64::MAX, 1024),
            (f64::MIN_POSITIVE, -1021),
            (5e-324, -1073),
            (f64::INFINITY, 1025),
        ] {
            assert_eq!(exponent_of(value), Some(exponent), "{value}");
        }
        assert_eq!([0.0, -0.0, f64::NAN].map(exponent_of), [None; 3]);
    }

    #[test]
    fn scaling_there_and_back_changes_nothing() {
        for value in [1.0, -0.75, 1e300, 5e-324] {
            let exponent = exponent_of(value).unwrap_or_default();
            let scaled = times_power_of_two(value, -exponent);
            assert!((0.5..1.0).contains(&scaled.abs()), "{value}");
            assert_eq!(times_power_of_two(scaled, exponent), value);
        }
        assert_eq!(times_power_of_two(1.0, i32::MAX), f64::INFINITY);
        assert_eq!(times_power_of_two(1.0, i32::MIN), 0.0);
    }
}
