//! Repeats the columns of windows for the rows in them. A large value of a window appears once for
//! each of its rows.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::batch_operator::RESULT_ROWS;
use crate::array::value_bytes::{is_fixed, value_bytes};

/// Approximate bytes in a batch of rows. 32-bit list offsets can address that many.
const BATCH_BYTES: usize = 64 << 20;

/// Bytes that the columns of each window take, or `None` if all windows take equally little.
pub(super) fn window_bytes(columns: &[ArrayRef], windows: usize) -> Option<Vec<usize>> {
    let of_window = |window: usize| {
        let columns = columns.iter();
        columns
            .map(|column| value_bytes(column, window..window + 1))
            .sum()
    };
    let varies = !columns.iter().all(|column| is_fixed(column.data_type()));
    varies.then(|| (0..windows).map(of_window).collect())
}

/// Splits rows into batches with bounded rows and bytes, but at least one row each. `bytes` gives
/// the bytes of each row.
pub(super) fn batches(bytes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let (mut batches, mut batch, mut held) = (Vec::new(), 0..0, 0_usize);
    for bytes in bytes {
        let grown = held.saturating_add(bytes);
        if batch.len() == RESULT_ROWS || (grown > BATCH_BYTES && !batch.is_empty()) {
            let next = batch.end..batch.end;
            batches.push(std::mem::replace(&mut batch, next));
            held = bytes;
        } else {
            held = grown;
        }
        batch.end += 1;
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// Splits rows into batches of at most [`RESULT_ROWS`].
pub(super) fn batches_of_rows(rows: usize) -> Vec<Range<usize>> {
    let starts = (0..rows).step_by(RESULT_ROWS);
    starts
        .map(|from| from..rows.min(from + RESULT_ROWS))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_no_more_rows_and_bytes_than_may_be_and_one_row_at_least() {
        let of = |bytes: &[usize]| batches(bytes.iter().copied());
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[BATCH_BYTES - 1, 1, 0, 1]), [0..3, 3..4]);
        assert_eq!(of(&[BATCH_BYTES, 1, 2]), [0..1, 1..3]);
        assert_eq!(of(&[usize::MAX, usize::MAX, 0]), [0..1, 1..2, 2..3]);
        let many = vec![0; 2 * RESULT_ROWS + 1];
        let end = many.len();
        assert_eq!(
            of(&many),
            [0..RESULT_ROWS, RESULT_ROWS..end - 1, end - 1..end]
        );
        assert_eq!(of(&many), batches_of_rows(many.len()));
        assert_eq!(batches_of_rows(0), []);
    }
}
