//! Keys of one column of strings or binary, and the table of their distinct byte strings.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use super::cells::{CellWord, Cells, cells};
use super::primitive::nulls;
use super::seed::Seed;
use super::table::Table;
use crate::array::convert;
use crate::core::error::{Error, Result};
use crate::core::key::KeyId;

/// Words are computed for this many rows before numbers are looked up. Two separate loops are
/// faster than one.
const CHUNK: usize = 1024;

/// Distinct byte strings.
pub(super) struct ByteTable {
    table: Table<CellWord>,
    seed: Seed,
    words: Vec<CellWord>,
    /// The end of each key in `data`.
    ends: Vec<usize>,
    data: Vec<u8>,
}

impl ByteTable {
    pub(super) fn new() -> Self {
        let seed = Seed::random();
        Self {
            table: Table::new(seed),
            seed,
            words: Vec::new(),
            ends: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Appends the key number of each of `length` rows.
    pub(super) fn intern(
        &mut self,
        cells: &dyn Cells,
        length: usize,
        nulls: Option<&NullBuffer>,
        ids: &mut Vec<KeyId>,
    ) -> Result<()> {
        let Self {
            table,
            seed,
            words,
            ends,
            data,
        } = self;
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        for start in (0..length).step_by(CHUNK) {
            let rows = start..length.min(start + CHUNK);
            words.clear();
            cells.words(rows.clone(), *seed, words);
            for (row, &word) in rows.zip(words.iter()) {
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    ids.push(KeyId::NULL);
                    continue;
                }
                let mut is_new = false;
                let id = table.number(
                    word,
                    |id| word.is_whole() || cell(ends, data, id) == Some(cells.get(row)),
                    || is_new = true,
                )?;
                if is_new {
                    data.extend_from_slice(cells.get(row));
                    ends.push(data.len());
                }
                ids.push(id);
            }
        }
        Ok(())
    }

    /// The bytes of a key, or `None` for an unknown number.
    pub(super) fn get(&self, id: KeyId) -> Option<&[u8]> {
        cell(&self.ends, &self.data, id)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn reserve(&mut self, keys: usize) {
        self.table.reserve(keys);
        self.ends.reserve(keys);
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.ends.clear();
        self.data.clear();
    }
}

#[inline]
fn cell<'a>(ends: &[usize], data: &'a [u8], id: KeyId) -> Option<&'a [u8]> {
    let id = id.0 as usize;
    let start = match id.checked_sub(1) {
        Some(before) => *ends.get(before)?,
        None => 0,
    };
    data.get(start..*ends.get(id)?)
}

/// The distinct keys of a column.
pub(super) struct BytesKeys {
    field: Field,
    table: ByteTable,
}

impl BytesKeys {
    pub(super) fn new(field: &Field) -> Self {
        Self {
            field: field.clone(),
            table: ByteTable::new(),
        }
    }

    /// Appends the key number of each row.
    pub(super) fn intern(&mut self, array: &ArrayRef, ids: &mut Vec<KeyId>) -> Result<()> {
        let (length, nulls) = (array.len(), array.nulls());
        self.table.intern(cells(array)?, length, nulls, ids)
    }

    /// The values of these keys, in the declared type.
    pub(super) fn array(&self, ids: &[KeyId]) -> Result<ArrayRef> {
        let mut length = 0_usize;
        let mut cells: Vec<Option<&[u8]>> = Vec::with_capacity(ids.len());
        for &id in ids {
            let cell = self.table.get(id);
            if cell.is_none() && id != KeyId::NULL {
                return Err(Error::Internal("a key number is unknown"));
            }
            length += cell.map_or(0, <[u8]>::len);
            cells.push(cell);
        }
        let narrow = || {
            i32::try_from(length).map_err(|_| Error::ArrayCapacity {
                column: self.field.name().clone(),
                reason: format!(
                    "{length} bytes of keys in one batch, more than {} holds",
                    self.field.data_type()
                ),
            })
        };
        let binary: ArrayRef = match self.field.data_type() {
            DataType::Utf8 | DataType::Binary => {
                narrow()?;
                Arc::new(cells.into_iter().collect::<BinaryArray>())
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                Arc::new(cells.into_iter().collect::<LargeBinaryArray>())
            }
            DataType::Utf8View | DataType::BinaryView => {
                Arc::new(cells.into_iter().collect::<BinaryViewArray>())
            }
            DataType::FixedSizeBinary(width) => {
                let zeros = vec![0; usize::try_from(*width).unwrap_or(0)];
                let values = cells
                    .into_iter()
                    .flat_map(|cell| cell.unwrap_or(&zeros))
                    .copied()
                    .collect::<Vec<u8>>();
                Arc::new(FixedSizeBinaryArray::try_new_with_len(
                    *width,
                    values.into(),
                    nulls(ids),
                    ids.len(),
                )?)
            }
            _ => return Err(Error::Internal("a key column of bytes has another type")),
        };
        if binary.data_type() == self.field.data_type() {
            return Ok(binary);
        }
        convert::cast(&binary, self.field.data_type())
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
