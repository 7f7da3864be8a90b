//! Keys of several columns, or of a type without its own implementation. They use Arrow's row
//! format: equal values have equal bytes.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_row::{OwnedRow, RowConverter, Rows, SortField};

use super::byte_keys::ByteTable;
use super::key_column::KeyColumn;
use crate::array::hidden_nulls;
use crate::core::error::{Error, Result};
use crate::core::key::KeyId;

/// The distinct rows of the key columns.
pub(super) struct RowKeys {
    converter: RowConverter,
    /// The rows of one batch, kept to reuse the memory.
    batch: Rows,
    table: ByteTable,
    /// The row with null in every column.
    null: OwnedRow,
}

impl RowKeys {
    /// Starts without keys. `columns` are the key columns.
    pub(super) fn new(columns: &[KeyColumn]) -> Result<Self> {
        let types = || columns.iter().map(|column| column.field().data_type());
        let converter = RowConverter::new(types().cloned().map(SortField::new).collect())?;
        let nulls = types()
            .map(|data_type| new_null_array(data_type, 1))
            .collect::<Vec<_>>();
        let null = converter.convert_columns(&nulls)?.row(0).owned();
        let batch = converter.empty_rows(0, 0);
        Ok(Self {
            converter,
            batch,
            table: ByteTable::new(),
            null,
        })
    }

    /// Appends the key number of each row.
    pub(super) fn intern(&mut self, columns: &[ArrayRef], ids: &mut Vec<KeyId>) -> Result<()> {
        let Self {
            converter,
            batch,
            table,
            ..
        } = self;
        batch.clear();
        converter.append(batch, columns)?;
        let length = columns.first().map_or(0, Array::len);
        let nulls = all_null(columns);
        table.intern(&*batch, length, nulls.as_ref(), ids)
    }

    /// The columns of these keys.
    pub(super) fn arrays(&self, ids: &[KeyId]) -> Result<Vec<ArrayRef>> {
        let parser = self.converter.parser();
        let row = |&id: &KeyId| match self.table.get(id) {
            Some(bytes) => Ok(parser.parse(bytes)),
            None if id == KeyId::NULL => Ok(self.null.row()),
            None => Err(Error::Internal("a key number is unknown")),
        };
        let rows = ids.iter().map(row).collect::<Result<Vec<_>>>()?;
        let length: usize = rows.iter().map(|row| row.as_ref().len()).sum();
        if i32::try_from(length).is_err() {
            return Err(Error::ArrayCapacity {
                column: "keys".into(),
                reason: format!("{length} bytes of keys in one batch, 2^31 or more"),
            });
        }
        let columns = self.converter.convert_rows(rows)?;
        columns.iter().map(hidden_nulls::without).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn reserve(&mut self, keys: usize) {
        self.table.reserve(keys);
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
    }
}

/// Marks rows that are null in every column, or returns `None` if there can be no such row.
pub(super) fn all_null(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let mut valid = columns
        .iter()
        .map(|column| column.nulls().filter(|nulls| nulls.null_count() > 0));
    let first = valid.next()??.inner().clone();
    valid
        .try_fold(first, |valid, nulls| Some(&valid | nulls?.inner()))
        .map(NullBuffer::new)
}
