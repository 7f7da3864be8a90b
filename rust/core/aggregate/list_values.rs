//! The size of the lists of sliding windows before they are built. Windows overlap, so a value may
//! be in many lists.

use std::ops::AddAssign;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::InputRows;
use super::distinct_values::distinct_values;
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use crate::core::error::Result;

/// The values of lists, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListValues {
    /// Their number.
    pub values: usize,
    /// Their approximate size in bytes.
    pub bytes: usize,
}

impl ListValues {
    /// This many values of the columns that an aggregate takes, each with `more` extra bytes.
    pub(super) fn of(values: usize, rows: InputRows<'_>, more: usize) -> Self {
        let width = rows.inputs.iter().map(value_width).sum::<usize>() + more;
        Self {
            values,
            bytes: values.saturating_mul(width),
        }
    }
}

/// The bytes of a value of a column on average; nulls take none.
fn value_width(column: &ArrayRef) -> usize {
    let all = match column.as_binary_opt::<i64>() {
        Some(bytes) => bytes.value_data().len() + size_of_val(bytes.value_offsets()),
        None => column.len() * column.data_type().primitive_width().unwrap_or_default(),
    };
    let (len, valid) = (column.len().max(1), column.len() - column.null_count());
    ((all as u128 * valid as u128 / len as u128) as usize).div_ceil(len)
}

/// The lists of the distinct values of spans: at most `most` values in each list, and `more` extra
/// bytes for each value.
pub(super) fn of_distinct<V: Scalar>(
    rows: InputRows<'_>,
    spans: RowSpans<'_>,
    most: usize,
    more: usize,
) -> Result<ListValues> {
    let mut values = 0_usize;
    distinct_values::<V>(rows, spans, |distinct| {
        values += most.min(distinct as usize)
    })?;
    Ok(ListValues::of(values, rows, more))
}

impl AddAssign for ListValues {
    fn add_assign(&mut self, other: Self) {
        self.values = self.values.saturating_add(other.values);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
