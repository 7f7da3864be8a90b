//! Stores 64-bit integers in fewer bytes, by their frame of reference. A column becomes its
//! differences from its least value, in 8, 16 or 32 bits if they fit. If that saves more bytes, a
//! column becomes its differences from the previous column first, row by row. For example, the end
//! and the reach of sessions are often equally far apart in all rows.
//!
//! | metadata of the field | value |
//! |---|---|
//! | `windrow.least` | the number to add to each value |
//! | `windrow.base` | the number, from 0, of an earlier column; its decoded value in the same row is added, too |
//!
//! Sums and differences wrap at 64 bits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::core::error::{Error, Result};

const LEAST_KEY: &str = "windrow.least";
const BASE_KEY: &str = "windrow.base";
/// About the number of rows at which the extra schema bytes of a column equal the saved bytes.
pub(super) const FEW_ROWS: usize = 16;

/// Encodes the `Int64` columns without nulls in as few bytes as possible.
pub(super) fn encode(rows: &RecordBatch) -> Result<RecordBatch> {
    if rows.num_rows() < FEW_ROWS {
        return Ok(rows.clone());
    }
    each(rows, |place, field, column, _| {
        let Some(values) = integers(column) else {
            return Ok(None);
        };
        let own = Frame::of(values.iter().copied());
        let bytes = own.as_ref().map_or(WIDEST, |frame| frame.bytes);
        let before = place.checked_sub(1).filter(|_| bytes > 1);
        let base = before.and_then(|before| integers(rows.columns().get(before)?));
        let beside = base.and_then(|base| Some((Frame::of(differences(values, base))?, base)));
        let mut metadata = field.metadata().clone();
        let narrow = match beside.filter(|(frame, _)| frame.bytes < bytes) {
            Some((frame, base)) => {
                metadata.extend(before.map(|before| (BASE_KEY.to_owned(), before.to_string())));
                Some(frame.write(differences(values, base)))
            }
            None => own.map(|frame| frame.write(values.iter().copied())),
        };
        Ok(narrow.map(|(least, column)| {
            metadata.insert(LEAST_KEY.to_owned(), least.to_string());
            let field = Field::new(
                field.name(),
                column.data_type().clone(),
                field.is_nullable(),
            );
            (field.with_metadata(metadata), column)
        }))
    })
}

/// Decodes the columns.
pub(super) fn decode(what: &'static str, rows: &RecordBatch) -> Result<RecordBatch> {
    each(rows, |_, field, column, decoded| {
        let Some(text) = field.metadata().get(LEAST_KEY) else {
            return Ok(None);
        };
        let base = field.metadata().get(BASE_KEY);
        let wrong = || Error::Format {
            what,
            reason: format!(
                "column {} of {}, {LEAST_KEY} {text:?}, {BASE_KEY} {base:?}",
                field.name(),
                field.data_type()
            ),
        };
        let least: i64 = text.parse().map_err(|_| wrong())?;
        let mut values = match column.data_type() {
            DataType::UInt8 => sums::<UInt8Type>(least, column),
            DataType::UInt16 => sums::<UInt16Type>(least, column),
            DataType::UInt32 => sums::<UInt32Type>(least, column),
            _ => return Err(wrong()),
        };
        if let Some(base) = base {
            let base: usize = base.parse().map_err(|_| wrong())?;
            let base = decoded.get(base).and_then(integers).ok_or_else(wrong)?;
            for (value, base) in values.iter_mut().zip(base) {
                *value = value.wrapping_add(*base);
            }
        }
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| key != LEAST_KEY && key != BASE_KEY);
        let field = Field::new(field.name(), DataType::Int64, field.is_nullable());
        Ok(Some((
            field.with_metadata(metadata),
            Arc::new(Int64Array::from(values)) as ArrayRef,
        )))
    })
}

/// The values of an `Int64` column without nulls.
fn integers(column: &ArrayRef) -> Option<&[i64]> {
    let column = column.as_primitive_opt::<Int64Type>()?;
    (column.null_count() == 0).then_some(column.values())
}

fn differences<'v>(values: &'v [i64], base: &'v [i64]) -> impl Iterator<Item = i64> {
    let each = values.iter().zip(base);
    each.map(|(value, base)| value.wrapping_sub(*base))
}

/// The size of an unencoded integer, in bytes.
const WIDEST: usize = 8;

/// The least of some integers, and the size of each difference from it, in bytes.
struct Frame {
    least: i64,
    bytes: usize,
}

impl Frame {
    /// The frame of some integers. `None` without integers, or if a difference exceeds 32 bits.
    fn of(values: impl Iterator<Item = i64>) -> Option<Self> {
        let bounds = values.fold(None, |bounds, value| {
            let (least, most) = bounds.unwrap_or((value, value));
            Some((value.min(least), value.max(most)))
        });
        let (least, most) = bounds?;
        let bytes = match most.abs_diff(least) {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            0x1_0000..=0xFFFF_FFFF => 4,
            _ => return None,
        };
        Some(Self { least, bytes })
    }

    /// Returns the least value and the column of differences.
    fn write(self, values: impl Iterator<Item = i64>) -> (i64, ArrayRef) {
        let Self { least, bytes } = self;
        let column: ArrayRef = match bytes {
            1 => Arc::new(narrow::<UInt8Type>(least, values, |value| value as u8)),
            2 => Arc::new(narrow::<UInt16Type>(least, values, |value| value as u16)),
            _ => Arc::new(narrow::<UInt32Type>(least, values, |value| value as u32)),
        };
        (least, column)
    }
}

fn narrow<T: ArrowPrimitiveType>(
    least: i64,
    values: impl Iterator<Item = i64>,
    low: impl Fn(i64) -> T::Native,
) -> PrimitiveArray<T> {
    PrimitiveArray::from_iter_values(values.map(|value| low(value.wrapping_sub(least))))
}

fn sums<T: ArrowPrimitiveType<Native: Into<i64>>>(least: i64, column: &ArrayRef) -> Vec<i64> {
    let differences = column.as_primitive::<T>().values().iter();
    differences
        .map(|&value| least.wrapping_add(value.into()))
        .collect()
}

/// Replaces some columns of a batch. The arguments of `change` are the number of a column, its
/// field, the column itself, and the new columns before it.
pub(super) fn each(
    rows: &RecordBatch,
    change: impl Fn(usize, &Field, &ArrayRef, &[ArrayRef]) -> Result<Option<(Field, ArrayRef)>>,
) -> Result<RecordBatch> {
    let schema = rows.schema_ref();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (place, (field, column)) in schema.fields().iter().zip(rows.columns()).enumerate() {
        let changed = change(place, field, column, &columns)?;
        let (field, column) =
            changed.unwrap_or_else(|| (field.as_ref().clone(), Arc::clone(column)));
        fields.push(field);
        columns.push(column);
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::named::unnamed;
    use arrow_array::{Float64Array, StringArray};
    use std::collections::HashMap;

    fn column(values: impl IntoIterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    #[test]
    fn columns_come_back_in_as_few_bytes_as_hold_their_differences() {
        for (span, bits) in [
            (0, 8),
            (0xFF, 8),
            (0x100, 16),
            (0xFFFF, 16),
            (0x1_0000, 32),
            (0xFFFF_FFFF, 32),
            (0x1_0000_0000, 64),
        ] {
            for least in [0, -7, i64::MIN, i64::MAX - span] {
                let most = least + span;
                let values = (0..20).map(|row| if row == 11 { most } else { least });
                let rows = unnamed(vec![column(values)]).unwrap();
                let encoded = encode(&rows).unwrap();
                let kind = encoded.column(0).data_type();
                assert_eq!(kind.primitive_width(), Some(bits / 8), "{least} {span}");
                assert_eq!(decode("page", &encoded).unwrap(), rows);
            }
        }
        let widest = unnamed(vec![column(
            (0..20).map(|row| if row > 9 { i64::MAX } else { i64::MIN }),
        )]);
        let widest = widest.unwrap();
        assert_eq!(encode(&widest).unwrap(), widest);
    }

    #[test]
    fn a_column_is_stored_as_differences_from_the_one_before_if_that_takes_fewer_bytes() {
        let starts = || (0..20_i64).map(|row| row * 1_000_000); // 32 bits
        for (offset, span, bits, has_base) in [
            (-5, 0, 8, true),
            (300, 0xFF, 8, true),
            (300, 0x100, 16, true),
            (i64::MIN + 0xFFFF, 0xFFFF, 16, true),
            (300, 0x1_0000, 32, false), // as many bits as without a base
            (i64::MAX, 0x1_0000, 32, true), // without a base the values wrap
        ] {
            let ends = starts().map(|start| {
                let length = if start == 0 { span } else { 0 };
                start.wrapping_add(offset).wrapping_sub(length)
            });
            let rows = unnamed(vec![column(starts()), column(ends)]).unwrap();
            let encoded = encode(&rows).unwrap();
            let schema = encoded.schema();
            let field = schema.field(1);
            let base = field.metadata().get(BASE_KEY).map(String::as_str);
            assert_eq!(base, has_base.then_some("0"), "{offset} {span}");
            let width = field.data_type().primitive_width();
            assert_eq!(width, Some(bits / 8), "{offset} {span}");
            assert_eq!(decode("page", &encoded).unwrap(), rows);
            let part = encoded.slice(7, 5);
            assert_eq!(decode("page", &part).unwrap(), rows.slice(7, 5));
        }
    }

    #[test]
    fn a_column_of_which_a_part_is_narrow_may_be_the_base_of_a_narrow_one() {
        let far = |row: i64| if row < 20 { row } else { i64::MAX - row };
        let rows = unnamed(vec![
            column((0..40).map(far)),
            column((0..40).map(|row| far(row) + 1)),
        ]);
        let rows = rows.unwrap();
        let once = encode(&rows).unwrap();
        assert_eq!(once.column(0).data_type(), &DataType::Int64);
        assert_eq!(once.column(1).data_type(), &DataType::UInt8);
        let twice = encode(&once.slice(0, 20)).unwrap();
        assert_eq!(twice.column(0).data_type(), &DataType::UInt8);
        assert_eq!(decode("page", &twice).unwrap(), rows.slice(0, 20));
    }

    #[test]
    fn a_column_that_may_have_nulls_still_may() {
        let field = Field::new("key", DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let rows = RecordBatch::try_new(schema, vec![column(0..20)]).unwrap();
        let encoded = encode(&rows).unwrap();
        assert_ne!(encoded, rows);
        assert_eq!(decode("page", &encoded).unwrap(), rows);
    }

    #[test]
    fn few_rows_nulls_and_other_types_stay_as_they_are() {
        let few = unnamed(vec![column(0..15)]).unwrap();
        assert_eq!(encode(&few).unwrap(), few);
        let nulls: ArrayRef = Arc::new(Int64Array::from_iter(
            (0..20).map(|row| (row > 3).then_some(row)),
        ));
        let doubles: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 20]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"; 20]));
        let bytes: ArrayRef = Arc::new(PrimitiveArray::<UInt8Type>::from(vec![1; 20]));
        let others = unnamed(vec![nulls, doubles, texts, bytes]).unwrap();
        assert_eq!(encode(&others).unwrap(), others);
        assert_eq!(decode("page", &others).unwrap(), others);
    }

    #[test]
    fn a_least_value_or_a_base_that_is_none_is_an_error() {
        let rows = unnamed(vec![column(0..20)]).unwrap();
        let encoded = encode(&rows).unwrap();
        let (narrow, wide) = (encoded.column(0), rows.column(0));
        for (least, base, column) in [
            ("x", None, narrow),
            ("0", None, wide),
            ("0", Some("x"), narrow),
            ("0", Some("-1"), narrow),
            ("0", Some("0"), narrow), // its own base
            ("0", Some("1"), narrow),
        ] {
            let mut least = HashMap::from([(LEAST_KEY.to_owned(), least.to_owned())]);
            least.extend(base.map(|base| (BASE_KEY.to_owned(), base.to_owned())));
            let field = Field::new("0", column.data_type().clone(), false).with_metadata(least);
            let schema = Arc::new(Schema::new(vec![field]));
            let wrong = RecordBatch::try_new(schema, vec![Arc::clone(column)]).unwrap();
            assert!(matches!(decode("page", &wrong), Err(Error::Format { .. })));
        }
    }
}
