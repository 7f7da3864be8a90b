//! A key column: what can be grouped, and how a batch's array becomes it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};

use crate::array::dictionary::{unpacked, unpacked_field};
use crate::array::{canonical_float, convert, type_name};
use crate::core::error::{Error, Result};

/// What can be grouped, in the words of errors.
const ALLOWED: &str = "integers, booleans, floats, decimals, strings, binary, dates, times, timestamps, durations, intervals, \
                       dictionaries of these, and structs and lists of these";

/// One of the columns that make a key.
pub(crate) struct KeyColumn {
    /// As declared, dictionaries unpacked.
    field: Field,
    floats: bool,
}

impl KeyColumn {
    /// A column as declared.
    ///
    /// # Errors
    ///
    /// [`Error::ColumnType`] where it cannot be grouped.
    pub(crate) fn new(declared: &Field) -> Result<Self> {
        if !groupable(declared.data_type()) {
            return Err(wrong(declared, type_name::of(declared), ALLOWED.into()));
        }
        let field = unpacked_field(declared);
        let floats = canonical_float::within(field.data_type());
        Ok(Self { field, floats })
    }

    /// Name and type of the column's values.
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// Whether values are strings or binary.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.field.data_type(), DataType::FixedSizeBinary(_))
            || is_string(self.field.data_type())
            || is_binary(self.field.data_type())
    }

    /// A batch's array in the declared layout, floats with one NaN and one zero.
    ///
    /// # Errors
    ///
    /// [`Error::ColumnType`] where the array has values of another type.
    pub(crate) fn read(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (expected, got) = (self.field.data_type(), array.data_type());
        let array = if expected == got {
            Arc::clone(array)
        } else if alike(expected, &unpacked(got)) {
            convert::cast(array, expected)?
        } else {
            return Err(wrong(
                &self.field,
                type_name::of_type(got),
                type_name::of_type(expected),
            ));
        };
        if self.floats {
            canonical_float::canonical(&array)
        } else {
            Ok(array)
        }
    }

    /// A batch's array of strings or binary in the layout that it has; only dictionaries are
    /// unpacked.
    ///
    /// # Errors
    ///
    /// [`Error::ColumnType`] where the array has values of another type.
    pub(crate) fn read_bytes(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (expected, got) = (self.field.data_type(), array.data_type());
        if alike(expected, got) {
            Ok(Arc::clone(array))
        } else {
            self.read(array)
        }
    }
}

fn wrong(field: &Field, got: String, allowed: String) -> Error {
    Error::ColumnType {
        argument: "keys".into(),
        column: field.name().clone(),
        got,
        allowed,
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// Whether a column of this type can be a key: its values have an equality, which Arrow's rows and
/// canonical bytes keep.
pub fn groupable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => groupable(values),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| groupable(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, 1..) => groupable(field.data_type()),
        DataType::Boolean | DataType::FixedSizeBinary(1..) => true,
        other => other.is_primitive() || is_string(other) || is_binary(other),
    }
}

/// Whether two unpacked types have the same values, in whatever layout.
fn alike(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::Struct(left), DataType::Struct(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| {
                    left.name() == right.name() && alike(left.data_type(), right.data_type())
                })
        }
        (
            DataType::List(left) | DataType::LargeList(left),
            DataType::List(right) | DataType::LargeList(right),
        ) => alike(left.data_type(), right.data_type()),
        (DataType::FixedSizeList(left, size), DataType::FixedSizeList(right, other)) => {
            size == other && alike(left.data_type(), right.data_type())
        }
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other, other_zone)) => {
            unit == other && zone.is_some() == other_zone.is_some()
        }
        _ => {
            left == right
                || (is_string(left) && is_string(right))
                || (is_binary(left) && is_binary(right))
        }
    }
}
