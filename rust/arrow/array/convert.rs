//! Arrow arrays to the aggregates' columns and back.
//!
//! | Arrow type | kind | canonical array |
//! |---|---|---|
//! | boolean, int8–int64, uint8–uint32, date, time, timestamp, duration | `Int` | Int64 |
//! | float16, float32, float64 | `Float` | Float64 |
//! | uint64, decimal32, decimal64, decimal128 | `Wide` | Decimal128 |
//! | string, binary (small, large, view, fixed size) | `Bytes` | LargeBinary |
//! | everything else that arrow-row takes | `Rows` | LargeBinary of row bytes |
//!
//! A canonical array is viewed as a [`Column`] without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, LargeBinaryArray, LargeListArray,
    ListArray, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Field};

use super::dictionary::unpacked;
use crate::aggregate::bytes::Bytes;
use crate::aggregate::column::{Column, Values};
use crate::aggregate::validity::Validity;
use crate::error::{Error, Result};

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error.to_string())
    }
}

/// How a type's values are seen by aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "told by the module's table")]
pub enum ColumnKind {
    Int,
    Float,
    Wide,
    Bytes,
    Rows,
}

/// The kind of an unpacked type; none where aggregates cannot take it.
pub fn kind(data_type: &DataType) -> Option<ColumnKind> {
    use DataType::*;
    match data_type {
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | Date32 | Date64
        | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => Some(ColumnKind::Int),
        Float16 | Float32 | Float64 => Some(ColumnKind::Float),
        UInt64 | Decimal32(..) | Decimal64(..) | Decimal128(..) => Some(ColumnKind::Wide),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
            Some(ColumnKind::Bytes)
        }
        other => RowConverter::supports_fields(&[SortField::new(other.clone())])
            .then_some(ColumnKind::Rows),
    }
}

/// A cast that fails rather than losing a value.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
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

/// The same buffers under another type of the same layout.
fn relabel(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Ok(make_array(
        array
            .to_data()
            .into_builder()
            .data_type(to.clone())
            .build()?,
    ))
}

/// Whether 32-bit integers stand behind a type.
fn is_narrow(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Time32(_))
}

/// An array without dictionaries, at any depth: row bytes do not keep them.
pub fn unpack(array: &ArrayRef) -> Result<ArrayRef> {
    cast(array, &unpacked(array.data_type()))
}

/// The canonical array of a column (see the module's table).
pub fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    use DataType::*;
    let array = &unpack(array)?;
    let data_type = array.data_type();
    match kind(data_type) {
        Some(ColumnKind::Int) => match data_type {
            Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => cast(array, &Int64),
            narrow if is_narrow(narrow) => cast(&relabel(array, &Int32)?, &Int64),
            _ => relabel(array, &Int64),
        },
        Some(ColumnKind::Float) => cast(array, &Float64),
        Some(ColumnKind::Wide) => match data_type {
            Decimal32(precision, scale) | Decimal64(precision, scale) => {
                cast(array, &Decimal128(*precision, *scale))
            }
            UInt64 => cast(array, &Decimal128(20, 0)),
            _ => Ok(Arc::clone(array)),
        },
        Some(ColumnKind::Bytes) => match data_type {
            Utf8View => cast(&cast(array, &LargeUtf8)?, &LargeBinary),
            _ => cast(array, &LargeBinary),
        },
        Some(ColumnKind::Rows) => {
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
        None => Err(Error::Arrow(format!(
            "values of type {data_type} cannot be aggregated"
        ))),
    }
}

/// Views a canonical array, or a list of them, as a column.
pub fn view(array: &ArrayRef) -> Result<Column<'_>> {
    let values = match array.data_type() {
        DataType::Int64 => Values::Int(array.as_primitive::<Int64Type>().values().as_ref().into()),
        DataType::Float64 => {
            Values::Float(array.as_primitive::<Float64Type>().values().as_ref().into())
        }
        DataType::Decimal128(..) => Values::Wide(
            array
                .as_primitive::<Decimal128Type>()
                .values()
                .as_ref()
                .into(),
        ),
        DataType::LargeBinary => {
            let bytes = array.as_binary::<i64>();
            Values::Bytes(Bytes {
                offsets: bytes.value_offsets().into(),
                data: bytes.value_data().into(),
            })
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            Values::List {
                offsets: lists.value_offsets().into(),
                elements: Box::new(view(lists.values())?),
            }
        }
        other => {
            return Err(Error::Format {
                what: "block",
                reason: format!("a column of type {other} is not expected"),
            });
        }
    };
    let validity = array.nulls().filter(|nulls| nulls.null_count() > 0);
    Ok(Column {
        values,
        validity: validity.map(|nulls| Validity::new(nulls.validity(), nulls.offset())),
    })
}

/// A column as its canonical array; lists become large lists.
pub fn array(column: Column<'static>) -> Result<ArrayRef> {
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
    })
}

/// A column as an array of the type that a user sees.
pub fn result(column: Column<'static>, data_type: &DataType) -> Result<ArrayRef> {
    let array = array(column)?;
    typed(&array, data_type)
}

/// What the offsets of most types reach to.
const MOST: usize = i32::MAX as usize;

/// The error of values that are too long for one array; its column is named by who knows it.
pub(crate) fn crowded(length: usize, what: &str, data_type: &DataType) -> Error {
    Error::Crowded {
        column: String::new(),
        reason: format!("{length} {what} in one window, more than {data_type} holds ({MOST})"),
    }
}

/// A canonical array as an array of type `to`.
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
                .map_err(|_| crowded(lists.values().len(), "elements", to))?;
            let values = typed(lists.values(), field.data_type())?;
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(field),
                OffsetBuffer::new(offsets.into()),
                values,
                lists.nulls().cloned(),
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
            Err(crowded(
                array.as_binary::<i64>().value_data().len(),
                "bytes",
                to,
            ))
        }
        (LargeBinary, Utf8View) => cast(&cast(array, &LargeUtf8)?, to),
        (LargeBinary, _) if kind(to) == Some(ColumnKind::Bytes) => cast(array, to),
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
            converter
                .convert_rows(rows)?
                .pop()
                .ok_or(Error::Internal("arrow-row gives one array for one field"))
        }
        (from, _) => Err(Error::Arrow(format!("no way from {from} to {to}"))),
    }
}
