//! Types whose values take no bytes.

use arrow_schema::DataType;

use super::nested::has;

/// Whether values of the type, or values nested in them, take no bytes.
pub(crate) fn within(data_type: &DataType) -> bool {
    has(data_type, &|inner| match inner {
        DataType::FixedSizeBinary(width) => *width <= 0,
        DataType::FixedSizeList(_, size) => *size <= 0,
        DataType::Struct(fields) => fields.is_empty(),
        _ => false,
    })
}
