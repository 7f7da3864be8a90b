//! Splits rows that do not fit one array into halves.

use std::ops::Range;

use crate::core::error::{Error, Result};

/// Makes the batch of a range of rows and emits it. If the rows do not fit one batch, splits them
/// into halves.
pub(crate) fn in_halves<T>(
    rows: Range<usize>,
    make: &mut impl FnMut(Range<usize>) -> Result<T>,
    emit: &mut (impl FnMut(T) + ?Sized),
) -> Result<()> {
    match make(rows.clone()) {
        Err(Error::ArrayCapacity { .. }) if rows.len() > 1 => {
            let middle = rows.start + rows.len() / 2;
            in_halves(rows.start..middle, make, emit)?;
            in_halves(middle..rows.end, make, emit)
        }
        made => {
            emit(made?);
            Ok(())
        }
    }
}
