//! The kinds of values that typed aggregates take, and their order.

use std::cmp::Ordering;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, PrimitiveArray};

use super::column::validity;
use super::slot::Slot;
use crate::core::error::{Error, Result};

const OTHER_KIND: Error = Error::Internal("an aggregate got a column of another kind");

/// A value kind: `i64`, `f64`, `i128` or `Box<[u8]>`, one for each type of [columns](super::column) that
/// is not a list or a struct.
pub trait Scalar: Clone + Default + Send + Sync + std::fmt::Debug + 'static {
    /// A value read in place.
    type Ref<'a>: Copy;
    /// The columns of these values.
    type Array: Array;

    /// Views a column as values of this kind.
    ///
    /// # Errors
    ///
    /// The column is of another kind.
    fn view(column: &ArrayRef) -> Result<&Self::Array>;
    /// The value of a row; without a meaning if the row is null.
    fn at(values: &Self::Array, row: usize) -> Self::Ref<'_>;
    /// The order of this kind: NaN is equal to itself and above all else, -0.0 is equal to 0.0.
    fn compare(left: Self::Ref<'_>, right: Self::Ref<'_>) -> Ordering;
    /// The value that represents all values equal to it by [`Scalar::compare`]: 0.0 for -0.0,
    /// one NaN.
    fn canonical(value: Self::Ref<'_>) -> Self::Ref<'_>;
    /// [`Scalar::compare`], and -0.0 below 0.0, so that a choice by it does not depend on the order
    /// of rows.
    fn compare_bits(left: Self::Ref<'_>, right: Self::Ref<'_>) -> Ordering;
    /// A hash of the value's bits; equal values have one where they are canonical.
    fn hash(value: Self::Ref<'_>) -> u64;
    /// Reads an owned value in place.
    fn get(&self) -> Self::Ref<'_>;
    /// An owned value.
    #[inline]
    fn from_ref(value: Self::Ref<'_>) -> Self {
        let mut owned = Self::default();
        owned.set(value);
        owned
    }
    /// Overwrites an owned value.
    fn set(&mut self, value: Self::Ref<'_>);
    /// Overwrites an owned value where a condition holds.
    #[inline]
    fn set_if(&mut self, condition: bool, value: Self::Ref<'_>) {
        if condition {
            self.set(value);
        }
    }
    /// The value of a row; none where the row is null or not there.
    #[inline]
    fn read(values: &Self::Array, row: usize) -> Option<Self::Ref<'_>> {
        (row < values.len() && values.is_valid(row)).then(|| Self::at(values, row))
    }
    /// Calls `visit` with the slot and the value of each row that holds one.
    fn visit(
        column: &ArrayRef,
        slots: &[Slot],
        mut visit: impl FnMut(Slot, Self::Ref<'_>),
    ) -> Result<()> {
        let values = Self::view(column)?;
        for (row, &slot) in slots.iter().enumerate() {
            if let Some(value) = Self::read(values, row) {
                visit(slot, value);
            }
        }
        Ok(())
    }
    /// The optional values of a column, as [`Self::column`] takes them.
    fn values(column: &ArrayRef) -> Result<impl Iterator<Item = Option<Self::Ref<'_>>>> {
        let values = Self::view(column)?;
        Ok((0..values.len()).map(|row| Self::read(values, row)))
    }
    /// A new column of optional values.
    fn column<'r>(values: impl Iterator<Item = Option<Self::Ref<'r>>>) -> ArrayRef;
    /// A new column without nulls.
    fn dense<'r>(values: impl IntoIterator<Item = Self::Ref<'r>>) -> ArrayRef {
        Self::column(values.into_iter().map(Some))
    }
}

/// Splits optional values into values (zero for null) and validity.
fn split<T: Default>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<bool>) {
    values
        .map(|value| (value.is_some(), value.unwrap_or_default()))
        .map(|(flag, value)| (value, flag))
        .unzip()
}

/// The order of floats: NaN above all else, the zeros equal.
#[inline]
pub(crate) fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// An integer in the order of floats: -0.0 below 0.0, every NaN above all else.
#[inline]
fn ordered_bits(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    if value.is_nan() {
        i64::MAX
    } else {
        bits ^ ((bits >> 63) & i64::MAX)
    }
}

macro_rules! primitive {
    ($type:ty, $arrow:ty, $compare:expr, $compare_bits:expr, $canonical:expr) => {
        impl Scalar for $type {
            type Ref<'a> = $type;
            type Array = PrimitiveArray<$arrow>;

            fn view(column: &ArrayRef) -> Result<&Self::Array> {
                column.as_primitive_opt().ok_or(OTHER_KIND)
            }

            #[inline]
            fn at(values: &Self::Array, row: usize) -> $type {
                values.values().get(row).copied().unwrap_or_default()
            }

            #[inline]
            fn compare(left: $type, right: $type) -> Ordering {
                $compare(left, right)
            }

            #[inline]
            fn compare_bits(left: $type, right: $type) -> Ordering {
                $compare_bits(left, right)
            }

            #[inline]
            fn canonical(value: Self::Ref<'_>) -> Self::Ref<'_> {
                $canonical(value)
            }

            #[inline]
            fn hash(value: $type) -> u64 {
                xxh3_64(&value.to_le_bytes())
            }

            #[inline]
            fn get(&self) -> $type {
                *self
            }

            #[inline]
            fn set(&mut self, value: $type) {
                *self = value;
            }

            #[inline]
            fn set_if(&mut self, condition: bool, value: $type) {
                *self = if condition { value } else { *self };
            }

            fn visit(
                column: &ArrayRef,
                slots: &[Slot],
                mut visit: impl FnMut(Slot, $type),
            ) -> Result<()> {
                let values = Self::view(column)?;
                let rows = slots.iter().zip(values.values());
                match values.nulls().filter(|nulls| nulls.null_count() > 0) {
                    None => rows.for_each(|(&slot, &value)| visit(slot, value)),
                    Some(nulls) => rows.zip(nulls).for_each(|((&slot, &value), is_valid)| {
                        if is_valid {
                            visit(slot, value);
                        }
                    }),
                }
                Ok(())
            }

            fn column<'r>(values: impl Iterator<Item = Option<Self::Ref<'r>>>) -> ArrayRef {
                let (values, valid) = split(values);
                let values = PrimitiveArray::<$arrow>::new(values.into(), validity(&valid));
                Arc::new(values)
            }

            fn dense<'r>(values: impl IntoIterator<Item = Self::Ref<'r>>) -> ArrayRef {
                let values: Vec<$type> = values.into_iter().collect();
                Arc::new(PrimitiveArray::<$arrow>::from(values))
            }
        }
    };
}

primitive!(
    i64,
    Int64Type,
    |left: i64, right: i64| left.cmp(&right),
    Self::compare,
    |value| value
);
primitive!(
    i128,
    Decimal128Type,
    |left: i128, right: i128| left.cmp(&right),
    Self::compare,
    |value| value
);
primitive!(
    f64,
    Float64Type,
    compare_floats,
    |left, right| ordered_bits(left).cmp(&ordered_bits(right)),
    |value: f64| if value.is_nan() {
        Self::NAN
    } else {
        value + 0.0
    }
);

impl Scalar for Box<[u8]> {
    type Ref<'a> = &'a [u8];
    type Array = LargeBinaryArray;

    fn view(column: &ArrayRef) -> Result<&LargeBinaryArray> {
        column.as_binary_opt().ok_or(OTHER_KIND)
    }

    /// Empty if the offsets do not fit the bytes.
    #[inline]
    fn at(values: &LargeBinaryArray, row: usize) -> &[u8] {
        let offsets = values.value_offsets();
        match (offsets.get(row), offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => {
                let bytes = values.value_data().get(from as usize..to as usize);
                bytes.unwrap_or_default()
            }
            _ => &[],
        }
    }

    #[inline]
    fn compare(left: &[u8], right: &[u8]) -> Ordering {
        left.cmp(right)
    }

    #[inline]
    fn compare_bits(left: &[u8], right: &[u8]) -> Ordering {
        left.cmp(right)
    }

    #[inline]
    fn canonical(value: Self::Ref<'_>) -> Self::Ref<'_> {
        value
    }

    #[inline]
    fn hash(value: &[u8]) -> u64 {
        xxh3_64(value)
    }

    #[inline]
    fn get(&self) -> &[u8] {
        self
    }

    #[inline]
    fn set(&mut self, value: &[u8]) {
        if self.len() == value.len() {
            self.copy_from_slice(value);
        } else {
            *self = value.into();
        }
    }

    fn column<'r>(values: impl Iterator<Item = Option<&'r [u8]>>) -> ArrayRef {
        Arc::new(LargeBinaryArray::from_iter(values))
    }
}
