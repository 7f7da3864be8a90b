//! Keys of one column of 32 or 64 bits: integers, dates, timestamps, floats, short decimals. Short
//! integers and booleans are widened to 32 bits.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::seed::Seed;
use super::table::{Table, Word};
use crate::array::convert;
use crate::core::error::{Error, Result};
use crate::core::key::KeyId;

/// The distinct keys of a column.
pub(super) struct PrimitiveKeys<B> {
    data_type: DataType,
    /// The type of the values.
    wide: DataType,
    table: Table<B>,
    values: Vec<B>,
}

impl<B: Word + ArrowNativeType> PrimitiveKeys<B> {
    pub(super) fn new(data_type: &DataType) -> Self {
        let wide = widened(data_type);
        Self {
            data_type: data_type.clone(),
            wide,
            table: Table::new(Seed::random()),
            values: Vec::new(),
        }
    }

    /// Appends the key number of each row.
    pub(super) fn intern(&mut self, array: &ArrayRef, ids: &mut Vec<KeyId>) -> Result<()> {
        let array = convert::cast(array, &self.wide)?;
        let data = array.to_data();
        let rows = data
            .buffer::<B>(0)
            .get(..array.len())
            .ok_or(Error::Internal("an array is shorter than its length"))?;
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => {
                for &value in rows {
                    ids.push(self.number(value)?);
                }
            }
            Some(nulls) => {
                for (&value, valid) in rows.iter().zip(nulls) {
                    ids.push(if valid {
                        self.number(value)?
                    } else {
                        KeyId::NULL
                    });
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self, value: B) -> Result<KeyId> {
        let Self { table, values, .. } = self;
        table.number(value, |_| true, || values.push(value))
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values of these keys.
    pub(super) fn array(&self, ids: &[KeyId]) -> Result<ArrayRef> {
        let value = |&id: &KeyId| match self.values.get(id.0 as usize) {
            Some(&value) => Ok(value),
            None if id == KeyId::NULL => Ok(B::default()),
            None => Err(Error::Internal("a key number is unknown")),
        };
        let mut values = Vec::with_capacity(ids.len());
        for id in ids {
            values.push(value(id)?);
        }
        let data = ArrayData::builder(self.wide.clone())
            .len(ids.len())
            .nulls(nulls(ids))
            .add_buffer(Buffer::from_vec(values));
        convert::cast(&make_array(data.build()?), &self.data_type)
    }

    pub(super) fn reserve(&mut self, keys: usize) {
        self.table.reserve(keys);
        self.values.reserve(keys);
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.values.clear();
    }
}

/// The type in which keys of a type are stored.
pub(super) fn widened(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Int8 | DataType::Int16 => DataType::Int32,
        DataType::Boolean | DataType::UInt8 | DataType::UInt16 => DataType::UInt32,
        same => same.clone(),
    }
}

/// Marks each [`KeyId::NULL`] as null, or returns `None` if there is none.
pub(super) fn nulls(ids: &[KeyId]) -> Option<NullBuffer> {
    ids.contains(&KeyId::NULL)
        .then(|| ids.iter().map(|&id| id != KeyId::NULL).collect())
}
