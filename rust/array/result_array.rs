//! Converts aggregate columns to Arrow arrays, canonical or with the types that users see.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, LargeBinaryArray, LargeListArray,
    ListArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field};

use super::convert::{cast, is_narrow, relabel, value_type};
use super::untrusted::read_untrusted;
use crate::core::aggregate::bytes::Bytes;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::value_type::ValueType;
use crate::core::error::{Error, Result};

/// The canonical array of a column. Lists become large lists, and struct fields get numbers as
/// names.
pub(crate) fn array(column: Column<'static>) -> Result<ArrayRef> {
    let rows = column.len();
    let nulls = column.validity.map(|validity| {
        NullBuffer::new(BooleanBuffer::new(
            Buffer::from_vec(validity.into_bits()),
            0,
            rows,
        ))
    });
    Ok(match column.values {
        Values::Int(values) => Arc::new(Int64Array::try_new(values.into_owned().into(), nulls)?),
        Values::Float(values) => {
            Arc::new(Float64Array::try_new(values.into_owned().into(), nulls)?)
        }
        Values::Wide(values) => {
            Arc::new(Decimal128Array::try_new(values.into_owned().into(), nulls)?)
        }
        Values::Bytes(Bytes { offsets, data }) => {
            let offsets = OffsetBuffer::new(offsets.into_owned().into());
            Arc::new(LargeBinaryArray::try_new(
                offsets,
                Buffer::from_vec(data.into_owned()),
                nulls,
            )?)
        }
        Values::List { offsets, elements } => {
            let elements = array(*elements)?;
            let field = Arc::new(Field::new("item", elements.data_type().clone(), true));
            Arc::new(LargeListArray::try_new(
                field,
                OffsetBuffer::new(offsets.into_owned().into()),
                elements,
                nulls,
            )?)
        }
        Values::Struct(columns) => {
            let arrays = columns.into_iter().map(array).collect::<Result<Vec<_>>>()?;
            let fields = arrays.iter().enumerate().map(|(position, array)| {
                Field::new(position.to_string(), array.data_type().clone(), true)
            });
            Arc::new(StructArray::try_new(fields.collect(), arrays, nulls)?)
        }
    })
}

/// Converts a column to an array with the type that users see.
pub(crate) fn result(column: Column<'static>, data_type: &DataType) -> Result<ArrayRef> {
    let array = array(column)?;
    typed(&array, data_type)
}

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
fn typed(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
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
            read_untrusted(|| converter.convert_rows(rows))
                .map_err(|reason| Error::Arrow(reason.into()))?
                .pop()
                .ok_or(Error::Internal("arrow-row gave no array for a field"))
        }
        (from, _) => Err(Error::Arrow(format!("{from} does not become {to}").into())),
    }
}
