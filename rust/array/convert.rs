//! Converts Arrow arrays to the columns that aggregates take. `result_array` converts back.
//!
//! | Arrow type | [`ValueType`] | canonical array |
//! |---|---|---|
//! | boolean | `Boolean` | Int64 |
//! | int8–int64, uint8–uint32 | `Integer` | Int64 |
//! | date, time, timestamp | `DateTime` | Int64 |
//! | duration | `Duration` | Int64 |
//! | float16, float32, float64 | `Float` | Float64 |
//! | uint64 | `UInt64` | Decimal128 |
//! | decimal32, decimal64, decimal128 | `Decimal` | Decimal128 |
//! | string, binary (small, large, view, fixed size) | `Bytes` | LargeBinary |
//! | all other types that arrow-row supports | `Row` | LargeBinary of row bytes |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType};

use super::dictionary::unpacked;
use crate::core::aggregate::value_type::ValueType;
use crate::core::error::{Error, Result};

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(Box::new(error))
    }
}

/// How aggregates see the values of an unpacked column, or `None` if they cannot take them.
pub(crate) fn value_type(data_type: &DataType) -> Option<ValueType> {
    use DataType::*;
    match data_type {
        Boolean => Some(ValueType::Boolean),
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Some(ValueType::Integer),
        UInt64 => Some(ValueType::UInt64),
        Float16 | Float32 | Float64 => Some(ValueType::Float),
        &Decimal32(precision, scale)
        | &Decimal64(precision, scale)
        | &Decimal128(precision, scale) => Some(ValueType::Decimal { precision, scale }),
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) => Some(ValueType::DateTime),
        Duration(_) => Some(ValueType::Duration),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
            Some(ValueType::Bytes)
        }
        other => RowConverter::supports_fields(&[SortField::new(other.clone())])
            .then_some(ValueType::Row),
    }
}

/// Casts an array, and fails instead of losing a value.
pub(crate) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    Ok(cast_with_options(
        array,
        to,
        &CastOptions {
            safe: false,
            ..CastOptions::default()
        },
    )?)
}

/// Gives the same buffers another type with the same layout.
pub(super) fn relabel(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(make_array(
        array
            .to_data()
            .into_builder()
            .data_type(to.clone())
            .build()?,
    ))
}

/// Whether the type is stored as 32-bit integers.
pub(super) fn is_narrow(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Time32(_))
}

/// Replaces dictionaries with their values, at any depth, because row bytes do not preserve them.
pub(crate) fn unpack(array: &ArrayRef) -> Result<ArrayRef> {
    cast(array, &unpacked(array.data_type()))
}

/// The canonical array of a column. See the table at the top of this file.
pub(crate) fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    use DataType::*;
    let array = &unpack(array)?;
    let data_type = array.data_type();
    match value_type(data_type) {
        Some(ValueType::Boolean | ValueType::Integer) => cast(array, &Int64),
        Some(ValueType::DateTime | ValueType::Duration) if is_narrow(data_type) => {
            cast(&relabel(array, &Int32)?, &Int64)
        }
        Some(ValueType::DateTime | ValueType::Duration) => relabel(array, &Int64),
        Some(ValueType::Float) => cast(array, &Float64),
        Some(ValueType::UInt64) => cast(array, &Decimal128(20, 0)),
        Some(ValueType::Decimal { precision, scale }) => cast(array, &Decimal128(precision, scale)),
        Some(ValueType::Bytes) => match data_type {
            Utf8View => cast(&cast(array, &LargeUtf8)?, &LargeBinary),
            _ => cast(array, &LargeBinary),
        },
        Some(ValueType::Row) => {
            let rows = RowConverter::new(vec![SortField::new(data_type.clone())])?
                .convert_columns(std::slice::from_ref(array))?;
            let bytes = cast(
                &(Arc::new(rows.try_into_binary()?) as ArrayRef),
                &LargeBinary,
            )?;
            let (offsets, values, _) = bytes.as_binary::<i64>().clone().into_parts();
            Ok(Arc::new(LargeBinaryArray::try_new(
                offsets,
                values,
                array.logical_nulls(),
            )?))
        }
        None => Err(Error::Arrow(
            format!("values of type {data_type} cannot be aggregated").into(),
        )),
    }
}

/// Checks that columns which were read are canonical arrays, or lists of them.
pub(crate) fn check_canonical(columns: &[ArrayRef]) -> Result<()> {
    let mut types = columns.iter().map(|column| column.data_type());
    match types.find(|data_type| !is_canonical(data_type)) {
        None => Ok(()),
        Some(other) => Err(Error::Format {
            what: "block",
            reason: format!("a column of type {other} is not expected"),
        }),
    }
}

fn is_canonical(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        LargeList(field) => is_canonical(field.data_type()),
        other => matches!(other, Int64 | Float64 | Decimal128(..) | LargeBinary),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_of_arrow_is_the_source_of_ours() {
        let error = Error::from(ArrowError::CastError("a number of a letter".into()));
        assert_eq!(error.to_string(), "Arrow: Cast error: a number of a letter");
        let source = error.source().and_then(|cause| cause.downcast_ref());
        assert!(matches!(source, Some(ArrowError::CastError(_))));
    }
}
