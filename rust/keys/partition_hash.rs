//! A quick hash of each row's key, by which rows are split before their keys are numbered. Of no
//! format: it may change. Its seed is fixed, since results leave part by part: keys that were
//! chosen to meet share one part of 32, in whose table of another seed they do not meet.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, IntervalUnit};

use super::cells::cells;
use super::key_column::KeyColumn;
use super::seed::{Seed, fold};
use super::table::Word;
use crate::core::error::{Error, Result};

/// The key columns that are hashed.
pub struct PartitionHash {
    columns: Vec<KeyColumn>,
}

impl PartitionHash {
    /// The hash of these columns.
    ///
    /// # Errors
    ///
    /// A type that cannot be grouped, or no column.
    pub fn new(fields: &[Field]) -> Result<Self> {
        Ok(Self {
            columns: fields.iter().map(KeyColumn::new).collect::<Result<_>>()?,
        })
    }

    /// Puts the hash of each row into `hashes`, equal where the keys are, in place of what it held.
    /// Only
    /// columns of 32 to 128 bits, of strings and of binary tell keys apart.
    ///
    /// # Errors
    ///
    /// Columns of other types.
    pub fn hash(&self, arrays: &[ArrayRef], hashes: &mut Vec<u64>) -> Result<()> {
        hashes.clear();
        for (column, array) in self.columns.iter().zip(arrays) {
            if column.is_bytes() {
                mix_bytes(&column.read_bytes(array)?, hashes)?;
                continue;
            }
            let data_type = column.field().data_type();
            // The two numbers of days and milliseconds are not one of 64 bits.
            match data_type
                .primitive_width()
                .filter(|_| *data_type != DataType::Interval(IntervalUnit::DayTime))
            {
                Some(4) => mix(&column.read(array)?, hashes, |value: u32| {
                    value.hash(Seed::FIXED)
                })?,
                Some(8) => mix(&column.read(array)?, hashes, |value: u64| {
                    value.hash(Seed::FIXED)
                })?,
                Some(16) => mix(&column.read(array)?, hashes, |value: i128| {
                    fold(value as u64 ^ Seed::FIXED.first, (value >> 64) as u64)
                })?,
                _ => {}
            }
        }
        hashes.resize(arrays.first().map_or(0, Array::len), 0);
        Ok(())
    }
}

/// Adds the cells of a column to the hashes; those of the first are the hashes.
fn add(hashes: &mut Vec<u64>, cells: impl Iterator<Item = u64>) {
    if hashes.is_empty() {
        hashes.extend(cells);
    } else {
        hashes
            .iter_mut()
            .zip(cells)
            .for_each(|(hash, cell)| *hash = hash.rotate_left(23) ^ cell);
    }
}

fn mix<T: ArrowNativeType>(
    array: &ArrayRef,
    hashes: &mut Vec<u64>,
    hash: impl Fn(T) -> u64,
) -> Result<()> {
    let data = array.to_data();
    let values = data
        .buffer::<T>(0)
        .get(..array.len())
        .ok_or(Error::Internal("an array is shorter than it says"))?;
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => add(hashes, values.iter().map(|&value| hash(value))),
        Some(nulls) => add(
            hashes,
            values
                .iter()
                .zip(nulls)
                .map(|(&value, valid)| if valid { hash(value) } else { 0 }),
        ),
    }
    Ok(())
}

fn mix_bytes(array: &ArrayRef, hashes: &mut Vec<u64>) -> Result<()> {
    let mut words = Vec::with_capacity(array.len());
    cells(array)?.words(0..array.len(), Seed::FIXED, &mut words);
    add(
        hashes,
        words.into_iter().enumerate().map(|(row, word)| {
            if array.is_valid(row) {
                word.hash(Seed::FIXED)
            } else {
                0
            }
        }),
    );
    Ok(())
}
