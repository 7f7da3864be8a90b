//! The number of distinct values of each sliding window, in one pass.

use super::argument::{Argument, Value};
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::value_dictionary::Dictionary;
use super::{InputRows, sweep};
use crate::core::error::Result;

/// Calls `emit` with the number of distinct values of each span that are not null.
pub(super) fn distinct_values<V: Scalar>(
    rows: InputRows<'_>,
    spans: RowSpans<'_>,
    mut emit: impl FnMut(i64),
) -> Result<()> {
    let values = Value::<V>::columns(rows)?;
    let dictionary = Dictionary::new::<V>(values, &spans);
    let mut window = DistinctCodes {
        rows: vec![0; dictionary.len()],
        distinct: 0,
    };
    let code = |row: usize| dictionary.code(row).into_iter();
    sweep::subtract_on_evict(
        spans,
        &mut window,
        |window, row| code(row).for_each(|code| window.insert(code)),
        |window, row| code(row).for_each(|code| window.evict(code)),
        |window| emit(window.distinct),
    );
    Ok(())
}

/// How many rows of a window each code has, and how many codes have any.
struct DistinctCodes {
    rows: Vec<u32>,
    distinct: i64,
}

impl DistinctCodes {
    fn insert(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            self.distinct += i64::from(*rows == 0);
            *rows += 1;
        }
    }

    fn evict(&mut self, code: u32) {
        if let Some(rows) = self.rows.get_mut(code as usize) {
            *rows -= 1;
            self.distinct -= i64::from(*rows == 0);
        }
    }
}
