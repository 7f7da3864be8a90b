//! Numbers the key values of Arrow batches densely.
//!
//! | file | contents |
//! |---|---|
//! | `key_column` | a key column: which types can be keys, and how to read the array of a batch |
//! | [`shard_hash`] | the canonical bytes of a key, and the hash that determines its shard |
//! | `table`, `seed` | the hash table from words to numbers; its secret seed |
//! | `primitive` | keys of one column of at most 64 bits |
//! | `cells`, `byte_keys` | keys of one column of strings or binary |
//! | `rows` | all other keys |
//! | `partition_hash` | a fast hash that partitions rows before their keys are numbered |
//! | `bloom` | a set of hashes that may contain others too |
//! | [`sort_key`] | keys as byte strings in key order, for stores |

pub(crate) mod bloom;
mod byte_keys;
mod cells;
mod key_column;
pub(crate) mod partition_hash;
mod primitive;
mod rows;
mod seed;
pub(crate) mod shard_hash;
pub(crate) mod sort_key;
mod table;

#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};

use crate::core::error::{Error, Result};
use crate::core::key::KeyId;
use byte_keys::BytesKeys;
use key_column::KeyColumn;
pub use key_column::groupable;
use primitive::{PrimitiveKeys, widened};
use rows::RowKeys;
pub use shard_hash::shard;

/// Numbers the distinct keys of all batches so far.
pub struct KeyInterner {
    columns: Vec<KeyColumn>,
    table: InternTable,
}

/// An enum, so that dispatch happens once per batch and not per row.
enum InternTable {
    Int(PrimitiveKeys<u32>),
    Long(PrimitiveKeys<u64>),
    Bytes(BytesKeys),
    Rows(RowKeys),
}

impl KeyInterner {
    /// Starts without keys. `fields` are the key columns.
    ///
    /// # Errors
    ///
    /// A type that cannot be grouped, or no columns.
    pub fn new(fields: &[Field]) -> Result<Self> {
        let columns = KeyColumn::of_key(fields)?;
        let table = match columns.as_slice() {
            [single] => InternTable::single(single)?,
            several => InternTable::Rows(RowKeys::new(several)?),
        };
        Ok(Self { columns, table })
    }

    /// Appends the key number of each row, or [`KeyId::NULL`] if every key column is null. Appends
    /// nothing if it fails.
    ///
    /// # Errors
    ///
    /// Columns with other types or lengths, or too many keys.
    pub fn intern(&mut self, columns: &[ArrayRef], ids: &mut Vec<KeyId>) -> Result<()> {
        if columns
            .iter()
            .zip(columns.iter().skip(1))
            .any(|(left, right)| left.len() != right.len())
        {
            return Err(Error::Internal(
                "the key columns of a batch differ in length",
            ));
        }
        let known = ids.len();
        let done = self.append(columns, ids);
        if done.is_err() {
            ids.truncate(known);
        }
        done
    }

    fn append(&mut self, columns: &[ArrayRef], ids: &mut Vec<KeyId>) -> Result<()> {
        ids.reserve(columns.first().map_or(0, Array::len));
        match (&mut self.table, self.columns.as_slice(), columns) {
            (InternTable::Int(keys), [column], [array]) => keys.intern(&column.read(array)?, ids),
            (InternTable::Long(keys), [column], [array]) => keys.intern(&column.read(array)?, ids),
            (InternTable::Bytes(keys), [column], [array]) => {
                keys.intern(&column.read_bytes(array)?, ids)
            }
            (InternTable::Rows(keys), columns, arrays) => {
                keys.intern(&KeyColumn::read_all(columns, arrays)?, ids)
            }
            _ => Err(Error::Internal("typed keys have several columns")),
        }
    }

    /// Makes room for the first `keys` keys.
    pub(crate) fn reserve(&mut self, keys: usize) {
        match &mut self.table {
            InternTable::Int(table) => table.reserve(keys),
            InternTable::Long(table) => table.reserve(keys),
            InternTable::Bytes(table) => table.reserve(keys),
            InternTable::Rows(table) => table.reserve(keys),
        }
    }

    /// The number of distinct keys.
    pub fn len(&self) -> usize {
        match &self.table {
            InternTable::Int(table) => table.len(),
            InternTable::Long(table) => table.len(),
            InternTable::Bytes(table) => table.len(),
            InternTable::Rows(table) => table.len(),
        }
    }

    /// The key columns for these numbers, in the types of [`Self::output_fields`]. [`KeyId::NULL`]
    /// gives null.
    ///
    /// # Errors
    ///
    /// The keys together are too long for one array.
    pub fn columns(&self, ids: &[KeyId]) -> Result<Vec<ArrayRef>> {
        let single = |array: ArrayRef| vec![array];
        match &self.table {
            InternTable::Int(keys) => keys.array(ids).map(single),
            InternTable::Long(keys) => keys.array(ids).map(single),
            InternTable::Bytes(keys) => keys.array(ids).map(single),
            InternTable::Rows(keys) => keys.arrays(ids),
        }
    }

    /// The fields of [`Self::columns`]: as declared, with dictionaries replaced by their values.
    pub fn output_fields(&self) -> Vec<Field> {
        self.columns
            .iter()
            .map(|column| column.field().clone())
            .collect()
    }

    /// Forgets all keys but keeps the memory.
    pub fn clear(&mut self) {
        match &mut self.table {
            InternTable::Int(keys) => keys.clear(),
            InternTable::Long(keys) => keys.clear(),
            InternTable::Bytes(keys) => keys.clear(),
            InternTable::Rows(keys) => keys.clear(),
        }
    }
}

impl InternTable {
    fn single(column: &KeyColumn) -> Result<Self> {
        let data_type = column.field().data_type();
        Ok(match (data_type, widened(data_type).primitive_width()) {
            // Days and milliseconds are two numbers, so their bits are not one value.
            (DataType::Interval(arrow_schema::IntervalUnit::DayTime), _) => {
                Self::Rows(RowKeys::new(std::slice::from_ref(column))?)
            }
            (_, Some(4)) => Self::Int(PrimitiveKeys::new(data_type)),
            (_, Some(8)) => Self::Long(PrimitiveKeys::new(data_type)),
            _ if column.is_bytes() => Self::Bytes(BytesKeys::new(column.field())),
            _ => Self::Rows(RowKeys::new(std::slice::from_ref(column))?),
        })
    }
}

/// The error when [`KeyId`] runs out of numbers.
fn too_many() -> Error {
    Error::Overflow {
        column: "keys".into(),
        reason: format!("more than {} distinct keys", KeyId::NULL.0),
    }
}
