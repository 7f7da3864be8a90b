//! Totals of sums and means, wide enough never to overflow before the end (rules 6.7).

use ethnum::I256;

use arrow_array::ArrayRef;

use super::double_double::DoubleDouble;
use super::scalar::Scalar;
use crate::core::error::{Error, Result};

/// A value kind that can be added up.
pub trait Summable: for<'a> Scalar<Ref<'a> = Self> + Copy {
    /// The type of its totals.
    type Total: Total<Self>;

    /// The total as a value; none unless it is below `limit` in size (decimals) or fits the type
    /// (integers).
    fn from_total(total: &Self::Total, limit: i128) -> Option<Self>;

    /// The mean of `count` values as a float.
    fn mean(total: &Self::Total, count: i64) -> f64;

    /// The mean of `count` values times `factor`, ties away from zero; none unless it fits as in
    /// [`Self::from_total`].
    fn rounded_mean(total: &Self::Total, count: i64, factor: i128, limit: i128) -> Option<Self>;
}

/// A running total. No number of rows overflows it; a damaged state wraps and does not panic.
pub trait Total<V>: Clone + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Whether subtracting a value exactly undoes adding it.
    const EXACT: bool;

    /// Adds a value.
    fn add(&mut self, value: V);
    /// Subtracts a value, if `EXACT`.
    fn subtract(&mut self, value: V);
    /// Adds another total.
    fn merge(&mut self, other: &Self);
    /// State columns.
    fn save<'t>(totals: impl Iterator<Item = &'t Self> + Clone) -> Vec<ArrayRef>;
    /// Reads state columns.
    ///
    /// # Errors
    ///
    /// The columns are not what [`Self::save`] writes.
    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>>;
}

impl Total<i64> for i128 {
    const EXACT: bool = true;

    #[inline]
    fn add(&mut self, value: i64) {
        *self = self.wrapping_add(Self::from(value));
    }

    #[inline]
    fn subtract(&mut self, value: i64) {
        *self = self.wrapping_sub(Self::from(value));
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        *self = self.wrapping_add(*other);
    }

    fn save<'t>(totals: impl Iterator<Item = &'t Self> + Clone) -> Vec<ArrayRef> {
        vec![i128::dense(totals.copied())]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [totals] = columns else {
            return Err(Error::Internal(
                "an integer total does not have one state column",
            ));
        };
        Ok(Self::view(totals)?.values().to_vec())
    }
}

impl Total<i128> for I256 {
    const EXACT: bool = true;

    #[inline]
    fn add(&mut self, value: i128) {
        *self = self.wrapping_add(Self::from(value));
    }

    #[inline]
    fn subtract(&mut self, value: i128) {
        *self = self.wrapping_sub(Self::from(value));
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        *self = self.wrapping_add(*other);
    }

    fn save<'t>(totals: impl Iterator<Item = &'t Self> + Clone) -> Vec<ArrayRef> {
        let highs = totals.clone().map(|total| total.into_words().0);
        let lows = totals.map(|total| total.into_words().1);
        vec![i128::dense(highs), i128::dense(lows)]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [highs, lows] = columns else {
            return Err(Error::Internal(
                "a decimal total does not have two state columns",
            ));
        };
        Ok(i128::view(highs)?
            .values()
            .iter()
            .zip(i128::view(lows)?.values())
            .map(|(&high, &low)| Self::from_words(high, low))
            .collect())
    }
}

impl Total<f64> for DoubleDouble {
    const EXACT: bool = false;

    #[inline]
    fn add(&mut self, value: f64) {
        Self::add(self, value);
    }

    fn subtract(&mut self, value: f64) {
        Self::add(self, -value);
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        Self::merge(self, *other);
    }

    fn save<'t>(totals: impl Iterator<Item = &'t Self> + Clone) -> Vec<ArrayRef> {
        let highs = totals.clone().map(|total| total.high);
        let lows = totals.map(|total| total.low);
        vec![f64::dense(highs), f64::dense(lows)]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [highs, lows] = columns else {
            return Err(Error::Internal(
                "a float total does not have two state columns",
            ));
        };
        Ok(f64::view(highs)?
            .values()
            .iter()
            .zip(f64::view(lows)?.values())
            .map(|(&high, &low)| Self { high, low })
            .collect())
    }
}

/// Integer division, ties away from zero (Java's `HALF_UP`, as Spark rounds).
fn half_up(dividend: I256, divisor: I256) -> Option<I256> {
    let (quotient, rest) = (
        dividend.checked_div(divisor)?,
        dividend.checked_rem(divisor)?,
    );
    let up = rest.abs() * 2 >= divisor.abs();
    Some(if !up {
        quotient
    } else if dividend.is_negative() == divisor.is_negative() {
        quotient + 1
    } else {
        quotient - 1
    })
}

impl Summable for i64 {
    type Total = i128;

    fn from_total(total: &i128, _limit: i128) -> Option<Self> {
        Self::try_from(*total).ok()
    }

    fn mean(total: &i128, count: Self) -> f64 {
        *total as f64 / count as f64
    }

    fn rounded_mean(total: &i128, count: Self, factor: i128, _limit: i128) -> Option<Self> {
        let scaled = I256::from(*total).checked_mul(factor.into())?;
        Self::try_from(half_up(scaled, count.into())?).ok()
    }
}

impl Summable for i128 {
    type Total = I256;

    fn from_total(total: &I256, limit: i128) -> Option<Self> {
        Self::try_from(*total)
            .ok()
            .filter(|total| total.unsigned_abs() < limit.unsigned_abs())
    }

    fn mean(total: &I256, count: i64) -> f64 {
        total.as_f64() / count as f64
    }

    fn rounded_mean(total: &I256, count: i64, factor: i128, limit: i128) -> Option<Self> {
        let scaled = total.checked_mul(factor.into())?;
        Self::from_total(&half_up(scaled, count.into())?, limit)
    }
}

impl Summable for f64 {
    type Total = DoubleDouble;

    fn from_total(total: &DoubleDouble, _limit: i128) -> Option<Self> {
        Some(total.value())
    }

    fn mean(total: &DoubleDouble, count: i64) -> f64 {
        total.value() / count as Self
    }

    fn rounded_mean(total: &DoubleDouble, count: i64, _factor: i128, _limit: i128) -> Option<Self> {
        Some(Self::mean(total, count))
    }
}
