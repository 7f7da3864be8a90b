//! Columns as the aggregates see them: Arrow arrays of a few types.
//!
//! | type | holds |
//! |---|---|
//! | `Int64` | booleans (0, 1), integers up to i64, dates, timestamps, durations |
//! | `Float64` | f32 (widened) and f64 |
//! | `Decimal128` | decimals up to 38 digits, u64 |
//! | `LargeBinary` | strings, binary; any other type as order-preserving row bytes |
//! | `LargeList` | results and states that hold several values |
//! | `Struct` | the elements of results that have several fields |
//!
//! The value at a null row has no meaning.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, StructArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use arrow_select::take::take;

use crate::core::error::{Error, Result};
use crate::core::sort::in_range;

/// Which rows hold a value, from a flag for each; none if all do.
pub(super) fn validity(valid: &[bool]) -> Option<NullBuffer> {
    (!valid.iter().all(|&flag| flag)).then(|| valid.into())
}

/// A column of lists without nulls. `offsets` has where each row starts in the elements of all rows, and
/// the end of the last one.
pub(crate) fn list(offsets: Vec<i64>, elements: ArrayRef) -> ArrayRef {
    nullable_list(offsets, elements, None)
}

/// A column of lists.
pub(super) fn nullable_list(
    offsets: Vec<i64>,
    elements: ArrayRef,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let field = Arc::new(Field::new("item", elements.data_type().clone(), true));
    let offsets = OffsetBuffer::new(offsets.into());
    Arc::new(LargeListArray::new(field, offsets, elements, nulls))
}

/// Columns of one length, side by side. Their numbers are the names of the fields.
pub(super) fn side_by_side(columns: Vec<ArrayRef>) -> ArrayRef {
    let field = |(position, column): (usize, &ArrayRef)| {
        Field::new(position.to_string(), column.data_type().clone(), true)
    };
    let fields = columns.iter().enumerate().map(field).collect();
    Arc::new(StructArray::new(fields, columns, None))
}

/// The rows `rows`, in that order.
///
/// # Errors
///
/// [`Error::Internal`] for a row that is not there.
pub(crate) fn gather(column: &ArrayRef, rows: &[u32]) -> Result<ArrayRef> {
    in_range(rows, column.len())?;
    Ok(take(column, &UInt32Array::from(rows.to_vec()), None)?)
}

/// A column of lists. Arrow has checked its offsets, also those of a saved state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists<'a> {
    offsets: &'a [i64],
    /// All rows' elements.
    pub elements: &'a ArrayRef,
}

impl<'a> Lists<'a> {
    /// Views a column of lists.
    ///
    /// # Errors
    ///
    /// It is not a column of lists.
    pub(crate) fn of(column: &'a ArrayRef) -> Result<Self> {
        let lists = column.as_list_opt::<i64>();
        let lists = lists.ok_or(Error::Internal("an aggregate got a column without lists"))?;
        let (offsets, elements) = (lists.value_offsets(), lists.values());
        Ok(Self { offsets, elements })
    }

    /// The range of a row's elements in all elements; empty beyond the last row.
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// The range of each row, which is the same in other columns of the same lists.
    ///
    /// # Errors
    ///
    /// The lists of another column differ in length.
    pub(crate) fn ranges(&self, others: &[Self]) -> Result<impl Iterator<Item = Range<usize>>> {
        if others.iter().any(|other| other.offsets != self.offsets) {
            return Err(Error::Internal("the lists of a state differ in length"));
        }
        Ok((1..self.offsets.len()).map(move |end| self.range(end - 1)))
    }
}
