//! A key column: which types can be keys, and how to read the array of a batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};

use crate::array::dictionary::{unpacked, unpacked_field};
use crate::array::{canonical_float, convert, type_name};
use crate::core::error::{Error, Result};

/// Types that can be grouped, as worded in errors.
const ALLOWED: &str = "integers, booleans, floats, decimals, strings, binary, dates, times, timestamps, durations, intervals, \
                       dictionaries of these, and structs and lists of these";

/// One column of a key.
pub(crate) struct KeyColumn {
    /// As declared, with dictionaries replaced by their values.
    field: Field,
    floats: bool,
}

impl KeyColumn {
    /// Creates a key column as declared.
    pub(crate) fn new(declared: &Field) -> Result<Self> {
        if !groupable(declared.data_type()) {
            return Err(wrong(declared, type_name::of(declared), ALLOWED.into()));
        }
        let field = unpacked_field(declared);
        let floats = canonical_float::within(field.data_type());
        Ok(Self { field, floats })
    }

    /// The columns of a key, as declared.
    pub(crate) fn of_key(fields: &[Field]) -> Result<Vec<Self>> {
        if fields.is_empty() {
            return Err(Error::Argument {
                argument: "keys".into(),
                got: "no column".into(),
                allowed: "one or more columns".into(),
            });
        }
        fields.iter().map(Self::new).collect()
    }

    /// Reads the arrays of a batch, one for each column of the key.
    pub(crate) fn read_all(columns: &[Self], arrays: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if arrays.len() != columns.len() {
            return Err(Error::Internal(
                "a batch does not have the declared number of key columns",
            ));
        }
        let columns = columns.iter().zip(arrays);
        columns.map(|(column, array)| column.read(array)).collect()
    }

    /// Name and value type of the column.
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// Whether the values are strings or binary.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.field.data_type(), DataType::FixedSizeBinary(_))
            || is_string(self.field.data_type())
            || is_binary(self.field.data_type())
    }

    /// Reads the array of a batch in the declared layout. Floats have one NaN and one zero.
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

    /// Reads an array of strings or binary in its own layout. Only dictionaries are unpacked.
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

/// Whether a column of this type can be a key. Its values must have an equality that Arrow's row
/// format and the canonical bytes preserve. Lists and structs have nulls of the null type, too.
pub fn groupable(data_type: &DataType) -> bool {
    let within = |field: &FieldRef| field.data_type().is_null() || groupable(field.data_type());
    match data_type {
        DataType::Dictionary(_, values) => groupable(values),
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(within),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, 1..) => within(field),
        DataType::Boolean | DataType::FixedSizeBinary(1..) => true,
        other => other.is_primitive() || is_string(other) || is_binary(other),
    }
}

/// Whether two unpacked types have the same values, in any layout.
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
