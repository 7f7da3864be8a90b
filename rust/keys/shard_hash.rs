//! The canonical bytes of a key, and the hash that determines its shard. Both belong to the state
//! format and must never change.
//!
//! The hash of a key is `xxh3_64` (seed 0) of the concatenated bytes of its columns. All numbers
//! are little-endian.
//!
//! | column | bytes |
//! |---|---|
//! | null, of any type | `00` |
//! | a value | `01`, then: |
//! | integers up to 64 bits, u8 to u32, dates, times, timestamps, durations, year-month intervals | i64, in the unit of the type |
//! | booleans | i64: 0 or 1 |
//! | u64 | i128 |
//! | decimals up to 38 digits | i128, unscaled |
//! | decimals of more digits (decimal256) | i256, unscaled |
//! | floats | bits of the f64; NaN is `7FF8000000000000`, -0.0 is 0.0 |
//! | strings, binary, of any layout | u32 length, then the bytes |
//! | day-time intervals | i64 days, i64 milliseconds |
//! | month-day-nano intervals | i64 months, i64 days, i64 nanoseconds |
//! | structs | the bytes of each field, encoded like a column |
//! | lists, of any layout | u32 length, then the bytes of each element, encoded like a column |
//!
//! Dictionaries have the bytes of their values. `key = (7: i32, "ab")` is `01 0700000000000000 01
//! 02000000 6162`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, IntervalUnit};
use xxhash_rust::xxh3::xxh3_64;

use super::key_column::KeyColumn;
use super::rows::all_null;
use crate::core::error::{Error, Result};

const NULL: u8 = 0;
const VALUE: u8 = 1;

/// The shard of a key. The shards are `shards` equal ranges of hashes.
#[inline]
pub fn shard(hash: u64, shards: u32) -> u32 {
    ((u128::from(hash) * u128::from(shards)) >> 64) as u32
}

/// Hashes the key columns.
pub(crate) struct ShardHash {
    columns: Vec<KeyColumn>,
}

impl ShardHash {
    /// Creates the hash for these columns.
    pub(crate) fn new(fields: &[Field]) -> Result<Self> {
        let columns = KeyColumn::of_key(fields)?;
        Ok(Self { columns })
    }

    /// Reads the arrays of a batch in the types of blocks.
    pub(crate) fn read(&self, arrays: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        KeyColumn::read_all(&self.columns, arrays)
    }

    /// The canonical hash of each row's key, or `None` if all its columns are null.
    pub(crate) fn hashes(&self, arrays: &[ArrayRef]) -> Result<Vec<Option<u64>>> {
        let arrays = self.read(arrays)?;
        if let [array] = arrays.as_slice()
            && array.null_count() == 0
            && let Some(hashes) = hashes_of_bits(array)
        {
            return Ok(hashes);
        }
        let nulls = all_null(&arrays);
        let mut bytes = Vec::new();
        let mut hashed = |row| match &nulls {
            Some(nulls) if nulls.is_null(row) => Ok(None),
            _ => hash(&arrays, row, &mut bytes).map(Some),
        };
        (0..arrays.first().map_or(0, Array::len))
            .map(&mut hashed)
            .collect()
    }
}

/// The hashes of a column of 32 or 64 bits without nulls, or `None` for any other column.
fn hashes_of_bits(array: &ArrayRef) -> Option<Vec<Option<u64>>> {
    let data_type = array.data_type();
    if *data_type == DataType::Interval(IntervalUnit::DayTime) {
        return None; // two numbers
    }
    let (number, data) = (Number::of(data_type), array.to_data());
    Some(match data_type.primitive_width()? {
        4 => {
            let bits = data.buffer::<u32>(0).get(..array.len())?.iter();
            bits.map(|&bits| Some(number.hash32(bits))).collect()
        }
        8 => {
            let bits = data.buffer::<u64>(0).get(..array.len())?.iter();
            bits.map(|&bits| Some(number.hash64(bits))).collect()
        }
        _ => return None,
    })
}

/// The canonical hash of one row. Overwrites `bytes`.
pub(crate) fn hash(columns: &[ArrayRef], row: usize, bytes: &mut Vec<u8>) -> Result<u64> {
    bytes.clear();
    for column in columns {
        write(column, row, bytes)?;
    }
    Ok(xxh3_64(bytes))
}

/// How to widen the bits of a primitive column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// Signed, to i64.
    Int,
    /// Unsigned with at most 32 bits, to i64.
    Natural,
    /// u64 to i128.
    Unsigned,
    /// Decimal to i128.
    Decimal,
    /// To f64.
    Float,
}

impl Number {
    /// How to widen a type of 32 or 64 bits.
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::UInt64 => Self::Unsigned,
            DataType::UInt32 => Self::Natural,
            DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Decimal32(..) | DataType::Decimal64(..) => Self::Decimal,
            _ => Self::Int,
        }
    }

    /// The hash of a single-column key from its 32 bits.
    fn hash32(self, bits: u32) -> u64 {
        match self {
            Self::Int => hash_value(&i64::from(bits.cast_signed()).to_le_bytes()),
            Self::Natural => hash_value(&i64::from(bits).to_le_bytes()),
            Self::Unsigned => hash_value(&i128::from(bits).to_le_bytes()),
            Self::Decimal => hash_value(&i128::from(bits.cast_signed()).to_le_bytes()),
            Self::Float => hash_value(&float(f64::from(f32::from_bits(bits)))),
        }
    }

    /// The hash of a single-column key from its 64 bits.
    fn hash64(self, bits: u64) -> u64 {
        match self {
            Self::Int => hash_value(&bits.to_le_bytes()),
            Self::Natural | Self::Unsigned => hash_value(&i128::from(bits).to_le_bytes()),
            Self::Decimal => hash_value(&i128::from(bits.cast_signed()).to_le_bytes()),
            Self::Float => hash_value(&float(f64::from_bits(bits))),
        }
    }
}

fn hash_value<const N: usize>(value: &[u8; N]) -> u64 {
    let mut bytes = [VALUE; 17];
    match bytes.get_mut(..=N) {
        Some(all) => {
            all.iter_mut()
                .skip(1)
                .zip(value)
                .for_each(|(to, from)| *to = *from);
            xxh3_64(all)
        }
        None => xxh3_64(&[[VALUE].as_slice(), value].concat()),
    }
}

fn float(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() {
        0x7FF8_0000_0000_0000
    } else {
        (value + 0.0).to_bits()
    };
    bits.to_le_bytes()
}

fn write_length(length: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(length).map_err(|_| Error::Overflow {
        column: "keys".into(),
        reason: format!("a key value of length {length}, 2^32 or more"),
    })?;
    bytes.extend(length.to_le_bytes());
    Ok(())
}

fn write_bytes(value: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    write_length(value.len(), bytes)?;
    bytes.extend(value);
    Ok(())
}

fn native<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// Appends the bytes of one row of a column. [`crate::keys::key_column`] must have read the column.
fn write(array: &dyn Array, row: usize, bytes: &mut Vec<u8>) -> Result<()> {
    // The null type has no bits that say so.
    if array.is_null(row) || array.data_type().is_null() {
        bytes.push(NULL);
        return Ok(());
    }
    bytes.push(VALUE);
    match array.data_type() {
        DataType::List(_) => return write_list(&array.as_list::<i32>().value(row), bytes),
        DataType::LargeList(_) => return write_list(&array.as_list::<i64>().value(row), bytes),
        DataType::FixedSizeList(..) => {
            return write_list(&array.as_fixed_size_list().value(row), bytes);
        }
        DataType::Struct(_) => {
            return array
                .as_struct()
                .columns()
                .iter()
                .try_for_each(|field| write(field, row, bytes));
        }
        DataType::Utf8 => {
            return write_bytes(array.as_string::<i32>().value(row).as_bytes(), bytes);
        }
        DataType::LargeUtf8 => {
            return write_bytes(array.as_string::<i64>().value(row).as_bytes(), bytes);
        }
        DataType::Utf8View => {
            return write_bytes(array.as_string_view().value(row).as_bytes(), bytes);
        }
        DataType::Binary => return write_bytes(array.as_binary::<i32>().value(row), bytes),
        DataType::LargeBinary => return write_bytes(array.as_binary::<i64>().value(row), bytes),
        DataType::BinaryView => return write_bytes(array.as_binary_view().value(row), bytes),
        DataType::FixedSizeBinary(_) => {
            return write_bytes(array.as_fixed_size_binary().value(row), bytes);
        }
        DataType::Boolean => bytes.extend(i64::from(array.as_boolean().value(row)).to_le_bytes()),
        DataType::Int8 => bytes.extend(i64::from(native::<Int8Type>(array, row)).to_le_bytes()),
        DataType::Int16 => bytes.extend(i64::from(native::<Int16Type>(array, row)).to_le_bytes()),
        DataType::UInt8 => bytes.extend(i64::from(native::<UInt8Type>(array, row)).to_le_bytes()),
        DataType::UInt16 => bytes.extend(i64::from(native::<UInt16Type>(array, row)).to_le_bytes()),
        DataType::UInt32 => bytes.extend(i64::from(native::<UInt32Type>(array, row)).to_le_bytes()),
        DataType::UInt64 => {
            bytes.extend(i128::from(native::<UInt64Type>(array, row)).to_le_bytes())
        }
        DataType::Float16 => bytes.extend(float(native::<Float16Type>(array, row).into())),
        DataType::Float32 => bytes.extend(float(native::<Float32Type>(array, row).into())),
        DataType::Float64 => bytes.extend(float(native::<Float64Type>(array, row))),
        DataType::Decimal32(..) => {
            bytes.extend(i128::from(native::<Decimal32Type>(array, row)).to_le_bytes())
        }
        DataType::Decimal64(..) => {
            bytes.extend(i128::from(native::<Decimal64Type>(array, row)).to_le_bytes())
        }
        DataType::Decimal128(..) => {
            bytes.extend(native::<Decimal128Type>(array, row).to_le_bytes())
        }
        DataType::Decimal256(..) => {
            bytes.extend(native::<Decimal256Type>(array, row).to_le_bytes())
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let interval = native::<IntervalDayTimeType>(array, row);
            bytes.extend(
                [interval.days, interval.milliseconds]
                    .into_iter()
                    .flat_map(|part| i64::from(part).to_le_bytes()),
            );
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = native::<IntervalMonthDayNanoType>(array, row);
            let parts = [
                interval.months.into(),
                interval.days.into(),
                interval.nanoseconds,
            ];
            bytes.extend(parts.into_iter().flat_map(i64::to_le_bytes));
        }
        // i32, i64, and dates, times, timestamps, durations and year-month intervals of either
        // width.
        other => {
            let data = array.to_data();
            let value = match other.primitive_width() {
                Some(4) => data
                    .buffer::<<Int32Type as ArrowPrimitiveType>::Native>(0)
                    .get(row)
                    .copied()
                    .map(i64::from),
                Some(8) => data
                    .buffer::<<Int64Type as ArrowPrimitiveType>::Native>(0)
                    .get(row)
                    .copied(),
                _ => None,
            };
            bytes.extend(
                value
                    .ok_or(Error::Internal("a key type has no canonical bytes"))?
                    .to_le_bytes(),
            );
        }
    }
    Ok(())
}

fn write_list(elements: &dyn Array, bytes: &mut Vec<u8>) -> Result<()> {
    write_length(elements.len(), bytes)?;
    (0..elements.len()).try_for_each(|element| write(elements, element, bytes))
}
