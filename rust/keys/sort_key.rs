//! Keys as byte strings in key order. Stores use them.
//!
//! | key columns | sort key |
//! |---|---|
//! | one column of strings or binary | its bytes |
//! | all others | Arrow's row format: ascending, nulls first |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field};

use super::key_column::KeyColumn;
use super::rows::all_null;
use crate::array::convert;
use crate::core::error::{Error, Result};

/// Converts key columns to sort keys and back.
pub(crate) struct SortKeys {
    columns: Vec<KeyColumn>,
    converter: Option<RowConverter>,
}

/// The sort keys of the rows of a batch.
pub(crate) enum SortKeyRows {
    /// One column of strings or binary.
    Bytes(LargeBinaryArray),
    /// Rows, and which of them are null in every column.
    Rows(Rows, Option<NullBuffer>),
}

/// The sort key of each row of these columns; null where all of them are null.
pub(crate) fn sort_keys(keys: &RecordBatch) -> Result<LargeBinaryArray> {
    let schema = keys.schema();
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    let sorted = SortKeys::new(&fields)?.of(keys.columns())?;
    Ok((0..keys.num_rows()).map(|row| sorted.get(row)).collect())
}

impl SortKeys {
    /// Creates the conversion for these columns.
    pub(crate) fn new(fields: &[Field]) -> Result<Self> {
        let columns = KeyColumn::of_key(fields)?;
        let converter = match columns.as_slice() {
            [single] if single.is_bytes() => None,
            columns => {
                let sorted = columns
                    .iter()
                    .map(|column| SortField::new(column.field().data_type().clone()));
                Some(RowConverter::new(sorted.collect())?)
            }
        };
        Ok(Self { columns, converter })
    }

    /// The fields of [`Self::columns`]: as declared, with dictionaries replaced by their values.
    pub(crate) fn fields(&self) -> Vec<Field> {
        self.columns
            .iter()
            .map(|column| column.field().clone())
            .collect()
    }

    /// The sort keys of rows.
    pub(crate) fn of(&self, arrays: &[ArrayRef]) -> Result<SortKeyRows> {
        let arrays = KeyColumn::read_all(&self.columns, arrays)?;
        match (&self.converter, arrays.as_slice()) {
            (Some(converter), arrays) => Ok(SortKeyRows::Rows(
                converter.convert_columns(arrays)?,
                all_null(arrays),
            )),
            (None, [array]) => {
                let plain = match array.data_type() {
                    DataType::Utf8View => &convert::cast(array, &DataType::LargeUtf8)?,
                    _ => array,
                };
                Ok(SortKeyRows::Bytes(
                    convert::cast(plain, &DataType::LargeBinary)?
                        .as_binary()
                        .clone(),
                ))
            }
            (None, _) => Err(Error::Internal("keys of bytes have several columns")),
        }
    }

    /// Converts sort keys of [`Self::of`] back to key columns, in the types of [`Self::fields`].
    pub(crate) fn columns<'n>(
        &self,
        sort_keys: impl ExactSizeIterator<Item = &'n [u8]>,
    ) -> Result<Vec<ArrayRef>> {
        match (&self.converter, self.columns.as_slice()) {
            (Some(converter), _) => {
                let parser = converter.parser();
                Ok(converter.convert_rows(sort_keys.map(|sort_key| parser.parse(sort_key)))?)
            }
            (None, [column]) => {
                let field = column.field();
                let binary: ArrayRef = match field.data_type() {
                    DataType::FixedSizeBinary(_) => {
                        Arc::new(BinaryArray::from_iter_values(sort_keys))
                    }
                    _ => Arc::new(LargeBinaryArray::from_iter_values(sort_keys)),
                };
                let plain = match field.data_type() {
                    DataType::Utf8View => convert::cast(&binary, &DataType::LargeUtf8)?,
                    DataType::BinaryView => convert::cast(&binary, &DataType::LargeBinary)?,
                    _ => binary,
                };
                Ok(vec![convert::cast(&plain, field.data_type())?])
            }
            (None, _) => Err(Error::Internal("keys of bytes have several columns")),
        }
    }
}

impl SortKeyRows {
    /// The sort key of a row, or `None` if every key column is null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Bytes(cells) => {
                (row < cells.len() && cells.is_valid(row)).then(|| cells.value(row))
            }
            Self::Rows(rows, nulls) => {
                let valid =
                    row < rows.num_rows() && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                valid.then(|| rows.row(row).data())
            }
        }
    }
}
