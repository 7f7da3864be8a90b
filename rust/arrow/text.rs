//! Whether strings are UTF-8, as Arrow has it. Who hands data over does not always look: Spark's strings may hold any bytes.

use std::str::from_utf8;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait};
use arrow_schema::DataType;

use crate::error::{Error, Result};

/// An error where a string of the column, at any depth, is no UTF-8.
pub(super) fn check(column: &str, array: &ArrayRef) -> Result<()> {
    if is_text(array.as_ref()) {
        return Ok(());
    }
    let reason = "it has a string whose bytes are no UTF-8; allowed: strings in UTF-8, or the same bytes as binary (a cast)";
    Err(Error::Record { column: column.into(), reason: reason.into() })
}

fn is_text(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Utf8 => are_strings(array.as_string::<i32>()),
        DataType::LargeUtf8 => are_strings(array.as_string::<i64>()),
        DataType::Utf8View => array.as_string_view().clone().to_binary_view().iter().flatten().all(|cell| from_utf8(cell).is_ok()),
        DataType::Dictionary(..) => is_text(array.as_any_dictionary().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().all(|field| is_text(field)),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            are_elements_text(list.values(), list.value_offsets())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            are_elements_text(list.values(), list.value_offsets())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            [map.keys(), map.values()].iter().all(|part| are_elements_text(part, map.value_offsets()))
        }
        DataType::FixedSizeList(..) => is_text(array.as_fixed_size_list().values()),
        _ => true,
    }
}

fn are_elements_text<O: OffsetSizeTrait>(elements: &ArrayRef, offsets: &[O]) -> bool {
    let bounds = offsets.first().zip(offsets.last()).map(|(first, last)| (first.as_usize(), last.as_usize()));
    bounds.is_none_or(|(first, last)| is_text(&elements.slice(first, last - first)))
}

fn are_strings<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> bool {
    let (data, offsets) = (array.value_data(), array.value_offsets());
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return true };
    let all = data.get(first.as_usize()..last.as_usize()).unwrap_or_default();
    // All at once: where that is text and each string begins with a character, each string is text.
    if let Ok(text) = from_utf8(all)
        && offsets.iter().all(|offset| text.is_char_boundary(offset.as_usize() - first.as_usize()))
    {
        return true;
    }
    let cell = |row: usize| data.get(offsets.get(row)?.as_usize()..offsets.get(row + 1)?.as_usize());
    (0..array.len()).filter(|&row| array.is_valid(row)).all(|row| from_utf8(cell(row).unwrap_or_default()).is_ok())
}
