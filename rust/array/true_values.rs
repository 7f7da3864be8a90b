//! Which values of a boolean array are true.

use arrow_array::{Array, BooleanArray};
use arrow_buffer::BooleanBuffer;

/// Which values are true; null is not.
pub(crate) fn are_true(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        None => values.values().clone(),
    }
}
