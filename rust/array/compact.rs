//! Arrays that hold on to no values of other rows. Arrow's `take` copies views and dictionary
//! indices, but shares all their values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_schema::DataType;

use super::convert;
use crate::core::error::Result;

/// Copies the values of views and of a dictionary if most of what they hold is of other rows.
pub(crate) fn compact(array: ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Utf8View => Ok(views(array.as_string_view()).unwrap_or(array)),
        DataType::BinaryView => Ok(views(array.as_binary_view()).unwrap_or(array)),
        DataType::Dictionary(..) if array.as_any_dictionary().values().len() > array.len() => {
            convert::unpack(&array)
        }
        _ => Ok(array),
    }
}

fn views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<ArrayRef> {
    let held: usize = array
        .data_buffers()
        .iter()
        .map(|buffer| buffer.capacity())
        .sum();
    (held > 2 * array.total_buffer_bytes_used()).then(|| Arc::new(array.gc()) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{BinaryViewArray, DictionaryArray, Int64Array, StringViewArray};

    use super::*;

    fn rows(number: usize) -> impl Iterator<Item = String> {
        (0..number).map(|row| format!("a key of more than twelve bytes, {row}"))
    }

    #[test]
    fn few_rows_hold_no_values_of_others() {
        let text = StringViewArray::from_iter_values(rows(1_000));
        let binary = BinaryViewArray::from_iter_values(rows(1_000));
        let names: Vec<String> = rows(1_000).collect();
        let packed: DictionaryArray<Int32Type> =
            names.iter().map(|name| Some(name.as_str())).collect();
        let arrays: [ArrayRef; 3] = [Arc::new(text), Arc::new(binary), Arc::new(packed)];
        for array in arrays {
            let few = compact(array.slice(500, 3)).unwrap();
            assert!(few.get_array_memory_size() < 1_000, "{}", array.data_type());
            let data_type = few.data_type().clone();
            assert_eq!(
                *few,
                *convert::cast(&array.slice(500, 3), &data_type).unwrap()
            );
        }
    }

    #[test]
    fn arrays_that_hold_their_own_values_are_not_copied() {
        let text = StringViewArray::from_iter_values(rows(1_000));
        let packed: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let arrays: [ArrayRef; 3] = [
            Arc::new(text),
            Arc::new(packed),
            Arc::new(Int64Array::from(vec![1])),
        ];
        for array in arrays {
            let same = compact(Arc::clone(&array)).unwrap();
            assert!(Arc::ptr_eq(&same, &array), "{}", array.data_type());
        }
    }
}
