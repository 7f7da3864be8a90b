//! A key column: what can be grouped, and how a batch's array becomes it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};

use crate::arrow::keys::float;
use crate::arrow::{spelled, values};
use crate::error::{Error, Result};

/// What can be grouped, as an error tells it.
const ALLOWED: &str = "integers, booleans, floats, decimals, strings, binary, dates, times, timestamps, durations, intervals, \
                       dictionaries of these, and structs and lists of these";

/// One of the columns that make a key.
pub(super) struct KeyColumn {
    /// As declared, dictionaries unpacked.
    field: Field,
    floats: bool,
}

impl KeyColumn {
    /// A column as declared; an error where its type cannot be grouped.
    pub(super) fn new(declared: &Field) -> Result<Self> {
        if !groupable(declared.data_type()) {
            return Err(wrong(declared, spelled::of(declared), ALLOWED.into()));
        }
        let field = unpacked_field(declared);
        let floats = float::within(field.data_type());
        Ok(Self { field, floats })
    }

    /// Name and type of the column's values.
    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    /// Whether values are strings or binary.
    pub(super) fn is_bytes(&self) -> bool {
        matches!(self.field.data_type(), DataType::FixedSizeBinary(_))
            || is_string(self.field.data_type())
            || is_binary(self.field.data_type())
    }

    /// A batch's array in the declared layout, floats with one NaN and one zero.
    pub(super) fn read(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (expected, got) = (self.field.data_type(), array.data_type());
        let array = if expected == got {
            Arc::clone(array)
        } else if alike(expected, &unpacked(got)) {
            values::cast(array, expected)?
        } else {
            return Err(wrong(&self.field, spelled::spelled(got), spelled::spelled(expected)));
        };
        if self.floats { float::canonical(&array) } else { Ok(array) }
    }

    /// A batch's array of strings or binary in the layout that it has; only dictionaries are unpacked.
    pub(super) fn read_bytes(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (expected, got) = (self.field.data_type(), array.data_type());
        if alike(expected, got) { Ok(Arc::clone(array)) } else { self.read(array) }
    }
}

fn wrong(field: &Field, got: String, allowed: String) -> Error {
    Error::ColumnType { argument: "keys".into(), column: field.name().clone(), got, allowed }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// Whether a column of this type can be a key: equality of its values is defined, and kept by rows and canonical bytes.
pub fn groupable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => groupable(values),
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| groupable(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, 1..) => groupable(field.data_type()),
        DataType::Boolean | DataType::FixedSizeBinary(0..) => true,
        other => other.is_primitive() || is_string(other) || is_binary(other),
    }
}

/// The type with dictionaries replaced by their values, at any depth.
pub fn unpacked(data_type: &DataType) -> DataType {
    let within = |field: &FieldRef| Arc::new(unpacked_field(field));
    match data_type {
        DataType::Dictionary(_, values) => unpacked(values),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(within).collect()),
        DataType::List(field) => DataType::List(within(field)),
        DataType::LargeList(field) => DataType::LargeList(within(field)),
        DataType::ListView(field) => DataType::ListView(within(field)),
        DataType::LargeListView(field) => DataType::LargeListView(within(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(within(field), *size),
        DataType::Map(entries, sorted) => DataType::Map(within(entries), *sorted),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(Arc::clone(ends), within(values)),
        other => other.clone(),
    }
}

/// The field with dictionaries replaced by their values, at any depth. What is told beside a dictionary is not told of its values.
pub fn unpacked_field(field: &Field) -> Field {
    let told = if matches!(field.data_type(), DataType::Dictionary(..)) { HashMap::new() } else { field.metadata().clone() };
    Field::new(field.name(), unpacked(field.data_type()), field.is_nullable()).with_metadata(told)
}

/// Whether two unpacked types have the same values, in whatever layout.
fn alike(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::Struct(left), DataType::Struct(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| left.name() == right.name() && alike(left.data_type(), right.data_type()))
        }
        (DataType::List(left) | DataType::LargeList(left), DataType::List(right) | DataType::LargeList(right)) => {
            alike(left.data_type(), right.data_type())
        }
        (DataType::FixedSizeList(left, size), DataType::FixedSizeList(right, other)) => {
            size == other && alike(left.data_type(), right.data_type())
        }
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other, other_zone)) => {
            unit == other && zone.is_some() == other_zone.is_some()
        }
        _ => left == right || (is_string(left) && is_string(right)) || (is_binary(left) && is_binary(right)),
    }
}
