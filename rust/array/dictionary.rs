//! Replaces dictionary types with the types of their values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::nested::{has, with_fields};

/// The type with every dictionary replaced by its value type, at any depth.
pub(crate) fn unpacked(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => unpacked(values),
        other => with_fields(other, &|field| Arc::new(unpacked_field(field))),
    }
}

/// Whether a dictionary is in a union, or has unions. Arrow unpacks neither.
pub(crate) fn beside_union(data_type: &DataType) -> bool {
    let is_dictionary = |inner: &DataType| matches!(inner, DataType::Dictionary(..));
    let is_union = |inner: &DataType| matches!(inner, DataType::Union(..));
    has(data_type, &|outer| {
        is_union(outer) && has(outer, &is_dictionary)
            || is_dictionary(outer) && has(outer, &is_union)
    })
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
