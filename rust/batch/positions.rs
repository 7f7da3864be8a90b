//! Positions of rows in their windows: how many rows the window has, without those after the row.
//!
//! ```text
//!   rows of the window   a b c d          all of a session; of a sliding window those at its end
//!   rows after           3 2 1 0
//!   position             n - 3 ... n      n: all rows of the window
//! ```
//!
//! Rows are ordered by time, and by arrival at equal times.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};

use crate::core::error::{Error, Result};

/// For each row, how many rows come after it in its window; `of_row` has the windows of the rows,
/// with the rows of a window side by side. Empty if there are no `columns` of positions.
pub(super) fn rows_after(of_row: &[u32], columns: &[usize]) -> Vec<i64> {
    if columns.is_empty() {
        return Vec::new();
    }
    let rows_of = |rows: &[u32]| (0..rows.len() as i64).rev();
    let windows = of_row.chunk_by(|left, right| left == right);
    windows.flat_map(rows_of).collect()
}

/// The positions of rows, from the counts of their windows; null for a row without a window.
pub(crate) fn positions(counts: &ArrayRef, after: Option<&[i64]>) -> Result<ArrayRef> {
    let counts = counts.as_primitive_opt::<Int64Type>();
    let (Some(counts), Some(after)) = (counts, after) else {
        return Err(Error::Internal("a window does not count its rows"));
    };
    if counts.len() != after.len() {
        return Err(Error::Internal("a row has no position"));
    }
    let rows = counts.iter().zip(after);
    let positions = rows.map(|(count, after)| count.map(|count| count - after));
    Ok(Arc::new(positions.collect::<Int64Array>()))
}
