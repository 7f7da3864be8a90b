//! Checks that a column is valid Arrow data: offsets and indices within range, strings in UTF-8.
//! Not every source guarantees this. Spark's strings can contain any bytes.

use std::ops::Range;
use std::str::from_utf8;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, GenericListViewArray, GenericStringArray, OffsetSizeTrait,
    make_array,
};
use arrow_schema::DataType;

use super::dictionary::unpacked;
use crate::core::error::{Error, Result};

const NO_TEXT: &str = "it has a string whose bytes are not UTF-8; allowed: strings in UTF-8, or the same bytes as binary (a cast)";
const OUT_OF_RANGE: &str = "it has an index or an offset that points beyond its values; allowed: valid Arrow data (pyarrow's validate(full=True))";

/// Checks that the column is valid for its type, at any depth.
pub(crate) fn check(column: &str, array: &ArrayRef) -> Result<()> {
    match fault(array.as_ref()) {
        Some(reason) => Err(Error::Record {
            column: column.into(),
            reason: reason.into(),
        }),
        None => Ok(()),
    }
}

fn fault(array: &dyn Array) -> Option<&'static str> {
    match array.data_type() {
        DataType::Utf8 => fault_of_strings(array.as_string::<i32>()),
        DataType::LargeUtf8 => fault_of_strings(array.as_string::<i64>()),
        DataType::Utf8View => {
            let cells = array.as_string_view().clone().to_binary_view();
            fault_of_values(&cells).or_else(|| {
                (!cells.iter().flatten().all(|cell| from_utf8(cell).is_ok())).then_some(NO_TEXT)
            })
        }
        DataType::BinaryView => fault_of_values(array),
        DataType::ListView(_) => fault_of_views(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => fault_of_views(array.as_list_view::<i64>()),
        DataType::RunEndEncoded(..) => fault_of_values(array).or_else(|| {
            let data = array.to_data();
            let values = data.child_data().get(1)?;
            fault(&make_array(values.clone()))
        }),
        DataType::Union(fields, _) => fault_of_values(array).or_else(|| {
            let members = fields.iter();
            members
                .map(|(id, _)| array.as_union().child(id))
                .find_map(|member| fault(member))
        }),
        DataType::Binary => fault_of_offsets(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => fault_of_offsets(array.as_binary::<i64>().value_offsets()),
        DataType::Dictionary(..) => {
            fault_of_values(array).or_else(|| fault(array.as_any_dictionary().values()))
        }
        DataType::Struct(_) => array
            .as_struct()
            .columns()
            .iter()
            .find_map(|field| fault(field)),
        DataType::List(_) => fault_of_lists(array.as_list::<i32>()),
        DataType::LargeList(_) => fault_of_lists(array.as_list::<i64>()),
        DataType::Map(..) => {
            let map = array.as_map();
            let parts = [map.keys(), map.values()];
            fault_of_values(array).or_else(|| {
                parts
                    .iter()
                    .find_map(|part| fault_of_elements(part, map.value_offsets()))
            })
        }
        DataType::FixedSizeList(..) => fault(array.as_fixed_size_list().values()),
        _ => None,
    }
}

/// Checks the array itself, but not its children.
fn fault_of_values(array: &dyn Array) -> Option<&'static str> {
    array
        .to_data()
        .validate_values()
        .is_err()
        .then_some(OUT_OF_RANGE)
}

fn fault_of_lists<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> Option<&'static str> {
    fault_of_values(lists).or_else(|| fault_of_elements(lists.values(), lists.value_offsets()))
}

/// Checks list views. Each has its own offset and size, in any order.
fn fault_of_views<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> Option<&'static str> {
    let values = lists.values();
    let mut used = values.len()..0;
    for (&offset, &size) in lists.value_offsets().iter().zip(lists.value_sizes()) {
        let end = offset
            .to_usize()
            .zip(size.to_usize())
            .and_then(|(offset, size)| offset.checked_add(size))
            .filter(|&end| end <= values.len());
        let (Some(offset), Some(end)) = (offset.to_usize(), end) else {
            return Some(OUT_OF_RANGE);
        };
        if offset < end {
            used = used.start.min(offset)..used.end.max(end);
        }
    }
    fault_of_range(values, used)
}

fn fault_of_elements<O: OffsetSizeTrait>(
    elements: &ArrayRef,
    offsets: &[O],
) -> Option<&'static str> {
    fault_of_range(
        elements,
        offsets.first()?.as_usize()..offsets.last()?.as_usize(),
    )
}

/// Checks the elements that lists use. Dictionaries are checked in full, because unpacking reads
/// unused elements too.
fn fault_of_range(elements: &ArrayRef, used: Range<usize>) -> Option<&'static str> {
    if unpacked(elements.data_type()) != *elements.data_type() {
        return fault(elements);
    }
    let length = used.len();
    fault(&elements.slice(used.end - length, length))
}

/// Checks the offsets of strings and bytes. The last offset is within the data, so sorted offsets
/// never point beyond it.
fn fault_of_offsets<O: OffsetSizeTrait>(offsets: &[O]) -> Option<&'static str> {
    // This checks all offsets without stopping early, because bad data is rare.
    let sorted = offsets
        .iter()
        .zip(offsets.iter().skip(1))
        .fold(true, |sorted, (from, to)| sorted & (from <= to));
    (!sorted).then_some(OUT_OF_RANGE)
}

fn fault_of_strings<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> Option<&'static str> {
    let (data, offsets) = (array.value_data(), array.value_offsets());
    fault_of_offsets(offsets).or_else(|| (!is_text(array, data, offsets)).then_some(NO_TEXT))
}

fn is_text<O: OffsetSizeTrait>(array: &dyn Array, data: &[u8], offsets: &[O]) -> bool {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return true;
    };
    let all = data
        .get(first.as_usize()..last.as_usize())
        .unwrap_or_default();
    // The fast path: if all bytes are valid text and each string starts at a character, each string
    // is valid.
    if let Ok(text) = from_utf8(all)
        && offsets
            .iter()
            .all(|offset| text.is_char_boundary(offset.as_usize() - first.as_usize()))
    {
        return true;
    }
    let cell =
        |row: usize| data.get(offsets.get(row)?.as_usize()..offsets.get(row + 1)?.as_usize());
    (0..array.len())
        .filter(|&row| array.is_valid(row))
        .all(|row| from_utf8(cell(row).unwrap_or_default()).is_ok())
}
