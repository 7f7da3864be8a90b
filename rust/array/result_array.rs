//! Converts columns of results to the types that users see.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;

use super::convert::{cast, is_narrow, relabel, value_type};
use super::hidden_nulls;
use super::untrusted::read_untrusted;
use crate::core::aggregate::value_type::ValueType;
use crate::core::error::{Error, Result};

/// The largest offset of most types.
const MOST: usize = i32::MAX as usize;

/// The error for values that are too long for one array. The caller adds the column name.
pub(crate) fn capacity_error(length: usize, what: &str, data_type: &DataType) -> Error {
    Error::ArrayCapacity {
        column: String::new(),
        reason: format!("{length} {what} are more than {data_type} holds ({MOST})"),
    }
}

/// Converts a canonical array to type `to`.
pub(crate) fn typed(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType::*;
    match (array.data_type(), to) {
        (LargeList(_), List(field)) => {
            let lists = array.as_list::<i64>();
            let offsets: Vec<i32> = lists
                .offsets()
                .iter()
                .map(|&offset| i32::try_from(offset))
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| capacity_error(lists.values().len(), "elements", to))?;
            let values = typed(lists.values(), field.data_type())?;
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(field),
                OffsetBuffer::new(offsets.into()),
                values,
                lists.nulls().cloned(),
            )?))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let columns = array.as_struct().columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| typed(column, field.data_type()));
            let nulls = array.logical_nulls();
            Ok(Arc::new(StructArray::try_new(
                fields.clone(),
                columns.collect::<Result<_>>()?,
                nulls,
            )?))
        }
        (Int64, Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32) => {
            cast(array, to)
        }
        (Int64, narrow) if is_narrow(narrow) => relabel(&cast(array, &Int32)?, to),
        (Int64, _) => relabel(array, to),
        (Float64, _) => cast(array, to),
        (Decimal128(..), Decimal128(..)) => relabel(array, to),
        (Decimal128(..), Decimal32(precision, scale) | Decimal64(precision, scale)) => {
            cast(&relabel(array, &Decimal128(*precision, *scale))?, to)
        }
        (Decimal128(..), UInt64) => cast(&relabel(array, &Decimal128(20, 0))?, to),
        (LargeBinary, to)
            if !matches!(to, LargeUtf8 | LargeBinary)
                && array.as_binary::<i64>().value_data().len() > MOST =>
        {
            Err(capacity_error(
                array.as_binary::<i64>().value_data().len(),
                "bytes",
                to,
            ))
        }
        (LargeBinary, Utf8View) => cast(&cast(array, &LargeUtf8)?, to),
        (LargeBinary, _) if value_type(to) == Some(ValueType::Bytes) => cast(array, to),
        (LargeBinary, _) => {
            let converter = RowConverter::new(vec![SortField::new(to.clone())])?;
            let (parser, bytes) = (converter.parser(), array.as_binary::<i64>());
            let null = converter.convert_columns(&[arrow_array::new_null_array(to, 1)])?;
            let rows = (0..bytes.len()).map(|row| {
                if bytes.is_valid(row) {
                    parser.parse(bytes.value(row))
                } else {
                    null.row(0)
                }
            });
            // The bytes may be those of a saved state.
            let arrays = read_untrusted(|| converter.convert_rows(rows))
                .map_err(|reason| Error::Arrow(reason.into()))?;
            let no_array = || Error::Internal("arrow-row gave no array for a field");
            hidden_nulls::without(arrays.first().ok_or_else(no_array)?)
        }
        (from, _) => Err(Error::Arrow(format!("{from} does not become {to}").into())),
    }
}
