//! Integers in fewer bytes, by their frame of reference: a column of 64-bit integers is written as
//! the differences from its least value, in 8, 16 or 32 bits where these hold the largest difference.
//! The field's metadata says the least value, as `windrow.least`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::error::{Error, Result};

const LEAST_KEY: &str = "windrow.least";
/// Rows of which a column takes as many bytes more in the schema as it takes fewer itself, about.
const FEW_ROWS: usize = 16;

/// The columns of a batch, those of 64-bit integers without a null in as few bytes as hold them.
pub(super) fn encode(rows: &RecordBatch) -> Result<RecordBatch> {
    if rows.num_rows() < FEW_ROWS {
        return Ok(rows.clone());
    }
    each(rows, |field, column| {
        let values = column.as_primitive_opt::<Int64Type>();
        let Some(values) = values.filter(|column| column.null_count() == 0) else {
            return Ok(None);
        };
        Ok(differences(values.values()).map(|(least, column)| {
            let least = HashMap::from([(LEAST_KEY.to_owned(), least.to_string())]);
            let kind = column.data_type().clone();
            (
                Field::new(field.name(), kind, field.is_nullable()).with_metadata(least),
                column,
            )
        }))
    })
}

/// The columns that were encoded.
///
/// # Errors
///
/// [`Error::Format`] about `what` for a least value that is none, or of another type of differences.
pub(super) fn decode(what: &'static str, rows: &RecordBatch) -> Result<RecordBatch> {
    each(rows, |field, column| {
        let Some(text) = field.metadata().get(LEAST_KEY) else {
            return Ok(None);
        };
        let wrong = || Error::Format {
            what,
            reason: format!(
                "column {} of {}, {LEAST_KEY} {text:?}",
                field.name(),
                field.data_type()
            ),
        };
        let least: i64 = text.parse().map_err(|_| wrong())?;
        let values = match column.data_type() {
            DataType::UInt8 => sums::<UInt8Type>(least, column),
            DataType::UInt16 => sums::<UInt16Type>(least, column),
            DataType::UInt32 => sums::<UInt32Type>(least, column),
            _ => return Err(wrong()),
        };
        let field = Field::new(field.name(), DataType::Int64, field.is_nullable());
        Ok(Some((field, Arc::new(values) as ArrayRef)))
    })
}

/// The least value and the differences from it, where 32 bits hold them.
fn differences(values: &[i64]) -> Option<(i64, ArrayRef)> {
    let (least, most) = (values.iter().min()?, values.iter().max()?);
    let column: ArrayRef = match most.abs_diff(*least) {
        0..=0xFF => Arc::new(narrow::<UInt8Type>(*least, values, |value| value as u8)),
        0x100..=0xFFFF => Arc::new(narrow::<UInt16Type>(*least, values, |value| value as u16)),
        0x1_0000..=0xFFFF_FFFF => {
            Arc::new(narrow::<UInt32Type>(*least, values, |value| value as u32))
        }
        _ => return None,
    };
    Some((*least, column))
}

fn narrow<T: ArrowPrimitiveType>(
    least: i64,
    values: &[i64],
    low: impl Fn(i64) -> T::Native,
) -> PrimitiveArray<T> {
    PrimitiveArray::from_iter_values(values.iter().map(|value| low(value.wrapping_sub(least))))
}

fn sums<T: ArrowPrimitiveType<Native: Into<i64>>>(least: i64, column: &ArrayRef) -> Int64Array {
    let differences = column.as_primitive::<T>().values().iter();
    Int64Array::from_iter_values(differences.map(|&value| least.wrapping_add(value.into())))
}

/// A batch of which some columns are other ones now.
fn each(
    rows: &RecordBatch,
    change: impl Fn(&Field, &ArrayRef) -> Result<Option<(Field, ArrayRef)>>,
) -> Result<RecordBatch> {
    let schema = rows.schema_ref();
    let columns = schema.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| {
        let kept = || (field.as_ref().clone(), Arc::clone(column));
        Ok(change(field, column)?.unwrap_or_else(kept))
    });
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::array::named::unnamed;
    use arrow_array::{Float64Array, StringArray};

    fn integers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
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
                let rows = unnamed(vec![integers(values)]).unwrap();
                let encoded = encode(&rows).unwrap();
                let kind = encoded.column(0).data_type();
                assert_eq!(kind.primitive_width(), Some(bits / 8), "{least} {span}");
                assert_eq!(decode("page", &encoded).unwrap(), rows);
            }
        }
        let widest = unnamed(vec![integers(
            (0..20).map(|row| if row > 9 { i64::MAX } else { i64::MIN }),
        )]);
        let widest = widest.unwrap();
        assert_eq!(encode(&widest).unwrap(), widest);
    }

    #[test]
    fn a_column_that_may_have_nulls_still_may() {
        let field = Field::new("key", DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let rows = RecordBatch::try_new(schema, vec![integers(0..20)]).unwrap();
        let encoded = encode(&rows).unwrap();
        assert_ne!(encoded, rows);
        assert_eq!(decode("page", &encoded).unwrap(), rows);
    }

    #[test]
    fn few_rows_nulls_and_other_types_stay_as_they_are() {
        let few = unnamed(vec![integers(0..15)]).unwrap();
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
    fn a_least_value_that_is_none_is_an_error() {
        let rows = unnamed(vec![integers(0..20)]).unwrap();
        let encoded = encode(&rows).unwrap();
        for (least, column) in [("x", encoded.column(0)), ("0", rows.column(0))] {
            let least = HashMap::from([(LEAST_KEY.to_owned(), least.to_owned())]);
            let field = Field::new("0", column.data_type().clone(), false).with_metadata(least);
            let schema = Arc::new(Schema::new(vec![field]));
            let wrong = RecordBatch::try_new(schema, vec![Arc::clone(column)]).unwrap();
            assert!(matches!(decode("page", &wrong), Err(Error::Format { .. })));
        }
    }
}
