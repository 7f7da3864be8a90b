//! The types inside a type.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};

/// The types of the fields, of the elements, or of the values of a dictionary.
pub(crate) fn children(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => vec![field.data_type()],
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::Dictionary(_, values) => vec![values],
        _ => Vec::new(),
    }
}

/// Whether the type is such a type, or has one at any depth.
pub(crate) fn has(data_type: &DataType, is_wanted: &impl Fn(&DataType) -> bool) -> bool {
    is_wanted(data_type)
        || children(data_type)
            .iter()
            .any(|child| has(child, is_wanted))
}

/// The type with other fields inside of it.
pub(crate) fn with_fields(
    data_type: &DataType,
    within: &impl Fn(&FieldRef) -> FieldRef,
) -> DataType {
    match data_type {
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
        DataType::Union(fields, mode) => {
            let members = fields.iter().map(|(id, field)| (id, within(field)));
            DataType::Union(members.collect(), *mode)
        }
        other => other.clone(),
    }
}
