//! Splits rows that do not fit one array into halves.

use std::ops::Range;

use crate::core::error::{Error, Result};

/// Makes the batch of a range of rows; if the rows do not fit one batch, those of its halves.
pub(crate) fn in_halves<T>(
    rows: Range<usize>,
    make: &mut impl FnMut(Range<usize>) -> Result<T>,
) -> Result<Vec<T>> {
    match make(rows.clone()) {
        Err(Error::ArrayCapacity { .. }) if rows.len() > 1 => {
            let middle = rows.start + rows.len() / 2;
            let mut made = in_halves(rows.start..middle, make)?;
            made.extend(in_halves(middle..rows.end, make)?);
            Ok(made)
        }
        made => Ok(vec![made?]),
    }
}
