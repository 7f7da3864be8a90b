//! How many bytes values take when copied.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType;

use crate::core::error::Result;

/// The bytes of the rows of a batch. The batch can be a slice of a much larger one.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> Result<usize> {
    batch.columns().iter().try_fold(0, |sum, column| {
        Ok(sum + column.to_data().get_slice_memory_size()?)
    })
}

/// The bytes of the values of some rows, including list elements. Each value counts as at least one
/// byte, so the result bounds the number of values. Values that a copy shares do not count.
pub(crate) fn value_bytes(array: &dyn Array, rows: Range<usize>) -> usize {
    let width = match array.data_type() {
        DataType::Utf8 => return bytes_between(array.as_string::<i32>().value_offsets(), rows),
        DataType::Binary => return bytes_between(array.as_binary::<i32>().value_offsets(), rows),
        DataType::LargeUtf8 => {
            return bytes_between(array.as_string::<i64>().value_offsets(), rows);
        }
        DataType::LargeBinary => {
            return bytes_between(array.as_binary::<i64>().value_offsets(), rows);
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            return listed(lists.value_offsets(), lists.values(), rows);
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            return listed(lists.value_offsets(), lists.values(), rows);
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            let entries = between(maps.value_offsets(), &rows);
            let columns = maps.entries().columns().iter();
            return rows.len() * size_of::<i32>()
                + columns
                    .map(|column| value_bytes(column, entries.clone()))
                    .sum::<usize>();
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            let values = rows.start * size..rows.end * size;
            return rows.len() + value_bytes(array.as_fixed_size_list().values(), values);
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            return rows.len()
                + columns
                    .map(|column| value_bytes(column, rows.clone()))
                    .sum::<usize>();
        }
        DataType::Dictionary(key, _) => key.primitive_width(),
        DataType::FixedSizeBinary(size) => usize::try_from(*size).ok(),
        DataType::Utf8View | DataType::BinaryView => Some(size_of::<u128>()),
        DataType::Boolean | DataType::Null => Some(1),
        other => other.primitive_width(),
    };
    let width = width.unwrap_or_else(|| array.get_array_memory_size().div_ceil(array.len().max(1)));
    rows.len() * width.max(1)
}

/// Whether all values take the same small number of bytes.
pub(crate) fn is_fixed(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(fields) => fields.iter().all(|field| is_fixed(field.data_type())),
        other => other.is_primitive() || matches!(other, DataType::Boolean | DataType::Null),
    }
}

fn listed<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef, rows: Range<usize>) -> usize {
    rows.len() * size_of::<O>() + value_bytes(values, between(offsets, &rows))
}

fn bytes_between<O: OffsetSizeTrait>(offsets: &[O], rows: Range<usize>) -> usize {
    rows.len() * size_of::<O>() + between(offsets, &rows).len()
}

/// The range from the first to the last offset of these rows.
fn between<O: OffsetSizeTrait>(offsets: &[O], rows: &Range<usize>) -> Range<usize> {
    let offset = |row: usize| offsets.get(row).map_or(0, |offset| offset.as_usize());
    offset(rows.start)..offset(rows.end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
    use arrow_array::types::{Int8Type, Int64Type};
    use arrow_array::{
        BooleanArray, DictionaryArray, FixedSizeListArray, Int64Array, LargeStringArray, ListArray,
    };
    use arrow_array::{NullArray, StringArray, StringViewArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn values_are_counted_row_by_row_in_any_column() {
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(1); 5]),
        ]);
        let text = StringArray::from(vec![Some("ab"), None, Some(""), Some("abcde")]);
        let structs = StructArray::from(vec![
            (
                Arc::new(Field::new("l", lists.data_type().clone(), true)),
                Arc::new(lists.clone()) as ArrayRef,
            ),
            (
                Arc::new(Field::new("t", DataType::Utf8, true)),
                Arc::new(text.clone()) as ArrayRef,
            ),
        ]);
        let pairs = FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>(
            [Some(vec![Some(1), None]), None],
            2,
        );
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        for entries in [2, 0, 1] {
            for _ in 0..entries {
                maps.keys().append_value("key");
                maps.values().append_value(1);
            }
            maps.append(true).unwrap();
        }
        let sizes = |array: &dyn Array| -> Vec<usize> {
            (0..array.len())
                .map(|row| value_bytes(array, row..row + 1))
                .collect()
        };
        assert_eq!(sizes(&lists), [4 + 16, 4, 4, 4 + 40]);
        assert_eq!(sizes(&lists.slice(2, 2)), [4, 4 + 40]);
        assert_eq!(sizes(&text), [6, 4, 4, 9]);
        assert_eq!(sizes(&LargeStringArray::from(vec!["ab"])), [10]);
        assert_eq!(
            sizes(&structs),
            [1 + 20 + 6, 1 + 4 + 4, 1 + 4 + 4, 1 + 44 + 9]
        );
        assert_eq!(sizes(&pairs), [17, 17]);
        assert_eq!(sizes(&maps.finish()), [4 + 2 * (4 + 3 + 8), 4, 4 + 15]);
        assert_eq!(sizes(&StringViewArray::from(vec!["a".repeat(99)])), [16]);
        assert_eq!(sizes(&BooleanArray::from(vec![true])), [1]);
        assert_eq!(sizes(&NullArray::new(1)), [1]);
        assert_eq!(
            sizes(
                &["a", "b"]
                    .into_iter()
                    .collect::<DictionaryArray<Int8Type>>()
            ),
            [1, 1]
        );
        assert_eq!(sizes(&Int64Array::from(vec![1])), [8]);
        assert_eq!(value_bytes(&lists, 0..4), 16 + 16 + 40);
    }
}
