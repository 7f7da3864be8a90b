//! Replaces dictionary types with the types of their values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

/// The type with every dictionary replaced by its value type, at any depth.
pub(crate) fn unpacked(data_type: &DataType) -> DataType {
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
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(Arc::clone(ends), within(values))
        }
        other => other.clone(),
    }
}

/// The field with every dictionary replaced by its value type, at any depth. Drops the metadata of
/// a dictionary, because it does not describe the values.
pub(crate) fn unpacked_field(field: &Field) -> Field {
    let metadata = if matches!(field.data_type(), DataType::Dictionary(..)) {
        HashMap::new()
    } else {
        field.metadata().clone()
    };
    Field::new(
        field.name(),
        unpacked(field.data_type()),
        field.is_nullable(),
    )
    .with_metadata(metadata)
}
