//! Floats as integers of the same order, which compare without a branch.

use std::cmp::Ordering;

use arrow_array::{ArrayRef, Float64Array};

use super::scalar::Scalar;
use super::slot::Slot;
use crate::core::error::Result;

/// A float by its rank in the order of floats: -0.0 below 0.0, every NaN above all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OrderedFloat(i64);

/// The rank of every NaN, with a sign or without.
const NAN: i64 = f64::NAN.to_bits().cast_signed();

/// The rank of the smallest float. NaNs with a sign would rank below it.
const SMALLEST: i64 = flip(f64::NEG_INFINITY.to_bits().cast_signed());

/// Negative floats descend as their bits ascend: with all bits but the sign flipped they ascend
/// too. Flipping twice gives the float back.
const fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63) & i64::MAX)
}

impl OrderedFloat {
    #[inline]
    fn of(value: f64) -> Self {
        let rank = flip(value.to_bits().cast_signed());
        Self(if rank < SMALLEST { NAN } else { rank })
    }

    fn value(self) -> f64 {
        f64::from_bits(flip(self.0).cast_unsigned())
    }
}

impl Scalar for OrderedFloat {
    type Ref<'a> = Self;
    type Array = Float64Array;

    fn view(column: &ArrayRef) -> Result<&Float64Array> {
        f64::view(column)
    }

    #[inline]
    fn at(values: &Float64Array, row: usize) -> Self {
        Self::of(f64::at(values, row))
    }

    fn compare(left: Self, right: Self) -> Ordering {
        f64::compare(left.value(), right.value())
    }

    fn canonical(value: Self::Ref<'_>) -> Self::Ref<'_> {
        Self::of(f64::canonical(value.value()))
    }

    #[inline]
    fn compare_bits(left: Self, right: Self) -> Ordering {
        left.cmp(&right)
    }

    #[inline]
    fn hash(value: Self) -> u64 {
        f64::hash(value.value())
    }

    #[inline]
    fn get(&self) -> Self {
        *self
    }

    #[inline]
    fn set(&mut self, value: Self) {
        *self = value;
    }

    #[inline]
    fn set_if(&mut self, condition: bool, value: Self) {
        *self = if condition { value } else { *self };
    }

    fn visit(column: &ArrayRef, slots: &[Slot], mut visit: impl FnMut(Slot, Self)) -> Result<()> {
        f64::visit(column, slots, |slot, value| visit(slot, Self::of(value)))
    }

    fn column<'r>(values: impl Iterator<Item = Option<Self::Ref<'r>>>) -> ArrayRef {
        f64::column(values.map(|value| value.map(Self::value)))
    }
}
