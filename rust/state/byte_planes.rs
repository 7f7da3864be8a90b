//! The bytes of 64-bit integers by their place: all lowest bytes, then all second ones, and so on, as
//! Parquet's `BYTE_STREAM_SPLIT` has them. Of keys in order and times close to each other the high
//! bytes are then long runs of one value, which LZ4 makes short.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};

use crate::core::error::Result;

/// Bytes of a value.
const WIDTH: usize = 8;

/// Splits the columns of 64-bit integers without a null.
pub(crate) fn split(rows: &RecordBatch) -> Result<RecordBatch> {
    each(rows, |values| {
        let bytes = (0..WIDTH).flat_map(|place| {
            let shift = 8 * place;
            values.iter().map(move |value| (value >> shift) as u8)
        });
        let bytes: Vec<u8> = bytes.collect();
        let (values, _) = bytes.as_chunks::<WIDTH>();
        values.iter().copied().map(i64::from_le_bytes).collect()
    })
}

/// The columns that were split.
pub(crate) fn join(rows: &RecordBatch) -> Result<RecordBatch> {
    each(rows, |split| {
        let bytes: Vec<u8> = split.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut values = vec![0_i64; split.len()];
        for (place, plane) in bytes.chunks_exact(split.len().max(1)).enumerate() {
            let shift = 8 * place;
            for (value, &byte) in values.iter_mut().zip(plane) {
                *value |= i64::from(byte) << shift;
            }
        }
        values
    })
}

fn each(rows: &RecordBatch, change: impl Fn(&[i64]) -> Vec<i64>) -> Result<RecordBatch> {
    let column = |column: &ArrayRef| -> ArrayRef {
        match column.as_primitive_opt::<Int64Type>() {
            Some(values) if values.null_count() == 0 => {
                Arc::new(Int64Array::from(change(values.values())))
            }
            _ => Arc::clone(column),
        }
    };
    let columns = rows.columns().iter().map(column).collect();
    Ok(RecordBatch::try_new(rows.schema(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::named::unnamed;
    use arrow_array::StringArray;

    #[test]
    fn split_columns_are_joined_again() {
        let integers: ArrayRef =
            Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, 0x0102, i64::MAX]));
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(1),
            None,
            None,
            Some(2),
            None,
            None,
        ]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d", "e", "f"]));
        let rows = unnamed(vec![Arc::clone(&integers), nulls, texts]).unwrap();
        for length in 0..=rows.num_rows() {
            let own = rows.slice(rows.num_rows() - length, length);
            let split = split(&own).unwrap();
            assert_eq!(split.columns()[1..], own.columns()[1..]);
            assert_eq!(join(&split).unwrap(), own);
        }
        let lowest: ArrayRef = Arc::new(Int64Array::from(vec![
            0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08,
        ]));
        let split = split(&unnamed(vec![lowest]).unwrap()).unwrap();
        assert_eq!(
            split.column(0).as_primitive::<Int64Type>().values()[..2],
            [0x0877_6655_4433_2211, 0]
        );
    }
}
