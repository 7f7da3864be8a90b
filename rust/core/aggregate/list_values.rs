//! The size of the lists of sliding windows before they are built. Windows overlap, so a value may
//! be in many lists.

use std::ops::AddAssign;

use super::InputRows;
use super::column::Column;
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
        let width = |column: &Column<'_>| column.value_bytes().div_ceil(column.len().max(1));
        let width = rows.inputs.iter().map(width).sum::<usize>() + more;
        Self {
            values,
            bytes: values.saturating_mul(width),
        }
    }
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
