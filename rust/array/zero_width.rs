//! Types whose values take no bytes.

use arrow_schema::DataType;

/// Whether values of the type, or values nested in them, take no bytes.
pub(crate) fn within(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(width) => *width <= 0,
        DataType::FixedSizeList(field, size) => *size <= 0 || within(field.data_type()),
        DataType::Struct(fields) => {
            fields.is_empty() || fields.iter().any(|field| within(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => within(field.data_type()),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| within(field.data_type())),
        DataType::Dictionary(_, values) => within(values),
        _ => false,
    }
}
