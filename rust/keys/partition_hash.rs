//! A fast hash of each row's key. It partitions rows before their keys are numbered.
//!
//! No format contains this hash, so it may change. Its seed is fixed, because the order of results
//! depends on the partitions. Keys chosen to collide here share one of 32 partitions. Its table has
//! another seed, so they do not collide there.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::ArrowNativeType;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, IntervalUnit};

use super::cells::{Cells, cells};
use super::key_column::KeyColumn;
use super::seed::{Seed, fold};
use super::table::Word;
use crate::core::error::{Error, Result};

/// The words of false and true. Their hashes differ in the bit that selects one of two threads.
const FLAGS: [u32; 2] = [0, 3];

/// Hashes the key columns.
pub(crate) struct PartitionHash {
    columns: Vec<HashedColumn>,
}

/// A key column. If its values are not plain bits, it also has a row converter.
struct HashedColumn {
    column: KeyColumn,
    rows: Option<RowConverter>,
}

impl PartitionHash {
    /// Creates the hash for these columns.
    pub(crate) fn new(fields: &[Field]) -> Result<Self> {
        Ok(Self {
            columns: fields
                .iter()
                .map(HashedColumn::new)
                .collect::<Result<_>>()?,
        })
    }

    /// Replaces `hashes` with the hash of each row. Equal keys have equal hashes.
    pub(crate) fn hash(&self, arrays: &[ArrayRef], hashes: &mut Vec<u64>) -> Result<()> {
        hashes.clear();
        for (column, array) in self.columns.iter().zip(arrays) {
            column.mix(array, hashes)?;
        }
        if hashes.len() == arrays.first().map_or(0, Array::len) {
            Ok(())
        } else {
            Err(Error::Internal("a row has no hash of its key"))
        }
    }
}

impl HashedColumn {
    fn new(declared: &Field) -> Result<Self> {
        let column = KeyColumn::new(declared)?;
        let data_type = column.field().data_type();
        let rows =
            !column.is_bytes() && *data_type != DataType::Boolean && width(data_type).is_none();
        let rows = rows.then(|| RowConverter::new(vec![SortField::new(data_type.clone())]));
        Ok(Self {
            rows: rows.transpose()?,
            column,
        })
    }

    /// Mixes a column into the hash of each row.
    fn mix(&self, array: &ArrayRef, hashes: &mut Vec<u64>) -> Result<()> {
        if self.column.is_bytes() {
            let array = self.column.read_bytes(array)?;
            mix_cells(cells(&array)?, &array, hashes);
            return Ok(());
        }
        let array = self.column.read(array)?;
        if let Some(rows) = &self.rows {
            let rows = rows.convert_columns(std::slice::from_ref(&array))?;
            mix_cells(&rows, &array, hashes);
            return Ok(());
        }
        match width(array.data_type()) {
            Some(1) => mix(&array, hashes, |value: u8| {
                u32::from(value).hash(Seed::FIXED)
            }),
            Some(2) => mix(&array, hashes, |value: u16| {
                u32::from(value).hash(Seed::FIXED)
            }),
            Some(4) => mix(&array, hashes, |value: u32| value.hash(Seed::FIXED)),
            Some(8) => mix(&array, hashes, |value: u64| value.hash(Seed::FIXED)),
            Some(16) => mix(&array, hashes, |value: i128| {
                fold(value as u64 ^ Seed::FIXED.first, (value >> 64) as u64)
            }),
            _ => {
                let [no, yes] = FLAGS.map(|word| word.hash(Seed::FIXED));
                let flags = array.as_boolean().iter();
                add(
                    hashes,
                    flags.map(|flag| flag.map_or(0, |flag| if flag { yes } else { no })),
                );
                Ok(())
            }
        }
    }
}

/// The width in bytes of values that are one number of at most 128 bits, or `None` for other types.
/// A day-time interval is two numbers.
fn width(data_type: &DataType) -> Option<usize> {
    data_type
        .primitive_width()
        .filter(|&width| width <= 16 && *data_type != DataType::Interval(IntervalUnit::DayTime))
}

/// Mixes the cell hashes of a column into the row hashes. The first column sets them.
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
        .ok_or(Error::Internal("an array is shorter than its length"))?;
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

fn mix_cells(column: &dyn Cells, array: &ArrayRef, hashes: &mut Vec<u64>) {
    let mut words = Vec::with_capacity(array.len());
    column.words(0..array.len(), Seed::FIXED, &mut words);
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use arrow_array::types::{Int8Type, Int32Type, IntervalDayTimeType};
    use arrow_array::{
        BooleanArray, Decimal256Array, DictionaryArray, Float16Array, Float64Array, Int8Array,
        Int16Array, Int32Array, Int64Array, IntervalDayTimeArray, ListArray, StringArray,
        StructArray, new_null_array,
    };
    use arrow_buffer::{NullBuffer, i256};
    use arrow_schema::Fields;

    use super::*;

    /// A hundred keys of each type that has that many values.
    fn many() -> Vec<ArrayRef> {
        let numbers: Vec<i32> = (0..100).collect();
        let text: Vec<String> = numbers
            .iter()
            .map(|number| format!("user {number}"))
            .collect();
        let ints = || Arc::new(Int32Array::from(numbers.clone())) as ArrayRef;
        let halves = numbers
            .iter()
            .map(|&number| (number as f32).to_string().parse().unwrap());
        let lists = numbers.iter().map(|&number| Some(vec![Some(number), None]));
        let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
        vec![
            Arc::new(Int8Array::from_iter_values(0..100)),
            Arc::new(Int16Array::from_iter_values(-50..50)),
            ints(),
            Arc::new(Int64Array::from_iter_values(0..100)),
            Arc::new(Float16Array::from_iter_values(halves)),
            Arc::new(Float64Array::from_iter_values(
                numbers.iter().map(|&number| number.into()),
            )),
            Arc::new(Decimal256Array::from_iter_values(
                numbers.iter().map(|&number| i256::from(number)),
            )),
            Arc::new(IntervalDayTimeArray::from_iter_values(
                numbers
                    .iter()
                    .map(|&number| IntervalDayTimeType::make_value(number, 1)),
            )),
            Arc::new(StringArray::from(text)),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
            Arc::new(StructArray::new(fields, vec![ints()], None)),
        ]
    }

    /// The hash of each row. The columns are declared like the arrays of `declared`.
    fn hashes(declared: &[ArrayRef], arrays: &[ArrayRef]) -> Vec<u64> {
        let field = |array: &ArrayRef| Field::new("key", array.data_type().clone(), true);
        let fields: Vec<Field> = declared.iter().map(field).collect();
        let mut hashes = Vec::new();
        PartitionHash::new(&fields)
            .unwrap()
            .hash(arrays, &mut hashes)
            .unwrap();
        hashes
    }

    /// The partitions, out of 32, that contain these hashes.
    fn parts(hashes: &[u64]) -> BTreeSet<u64> {
        hashes.iter().map(|hash| hash >> 32 & 31).collect()
    }

    #[test]
    fn keys_of_each_type_spread_over_most_parts() {
        for keys in many() {
            let alone = hashes(&[Arc::clone(&keys)], &[Arc::clone(&keys)]);
            assert!(parts(&alone).len() > 16, "{}", keys.data_type());
            // A second, constant column does not change that.
            let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true; keys.len()]));
            let both = [flag, keys];
            assert!(
                parts(&hashes(&both, &both)).len() > 16,
                "{}",
                both[1].data_type()
            );
        }
    }

    #[test]
    fn true_and_false_go_to_two_threads() {
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![false, true]));
        let parts = parts(&hashes(&[Arc::clone(&flags)], &[flags]));
        let threads: BTreeSet<u64> = parts.iter().map(|part| part % 2).collect();
        assert_eq!(threads.len(), 2, "{parts:?}");
    }

    #[test]
    fn equal_keys_have_one_hash() {
        let same = |left: ArrayRef, right: ArrayRef| {
            let declared = [Arc::clone(&left)];
            assert_eq!(
                hashes(&declared, &[left]),
                hashes(&declared, &[right]),
                "{:?}",
                declared
            );
        };
        let floats = |values: [f64; 2]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let [usual, other] = [[0.0, f64::NAN], [-0.0, -f64::NAN]].map(floats);
        same(Arc::clone(&usual), Arc::clone(&other));
        let fields = Fields::from(vec![Field::new("a", DataType::Float64, true)]);
        let nested = |values| Arc::new(StructArray::new(fields.clone(), vec![values], None));
        same(nested(usual), nested(other));

        let plain = Int8Array::from(vec![Some(7), None, Some(8)]);
        let codes = Int8Array::from(vec![Some(1), None, Some(0)]);
        let values = Arc::new(Int8Array::from(vec![8, 7]));
        let packed = DictionaryArray::<Int8Type>::new(codes, values);
        same(Arc::new(plain), Arc::new(packed));

        for keys in many() {
            let rows = keys.slice(40, 20);
            assert_eq!(
                hashes(&[Arc::clone(&keys)], &[rows])[..],
                hashes(&[Arc::clone(&keys)], &[Arc::clone(&keys)])[40..60],
                "a slice of {}",
                keys.data_type(),
            );
        }
    }

    #[test]
    fn a_null_has_one_hash_with_any_cell() {
        let hidden = Int16Array::new(vec![1, 2, 3].into(), Some(NullBuffer::from(vec![false; 3])));
        let found = hashes(&[Arc::new(hidden.clone())], &[Arc::new(hidden)]);
        assert_eq!(found, [found[0]; 3]);
        for keys in many() {
            let nulls = new_null_array(keys.data_type(), 2);
            let found = hashes(&[keys], &[nulls]);
            assert_eq!(found[0], found[1]);
        }
    }
}
