//! The results of windows. A result that does not fit its type is an error, or null and counted.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::concat::concat;

use crate::core::error::{Error, Result};

/// What happens to a result that does not fit its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The query fails.
    #[default]
    Error,
    /// The result is null, and counted.
    Null,
}

/// A column for each aggregate, with a row for each window.
#[derive(Clone, Debug, Default)]
pub struct WindowResults {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// How many results are null because they do not fit their type.
    pub overflows: u64,
}

impl From<Vec<ArrayRef>> for WindowResults {
    fn from(columns: Vec<ArrayRef>) -> Self {
        Self {
            columns,
            overflows: 0,
        }
    }
}

impl WindowResults {
    /// Adds the column of an aggregate over `windows` windows. `lower` gives the results of a
    /// range.
    pub(super) fn add(
        &mut self,
        overflow: Overflow,
        windows: usize,
        mut lower: impl FnMut(Range<usize>) -> Result<ArrayRef>,
    ) -> Result<()> {
        let column = match lower(0..windows) {
            Err(Error::ResultOverflow { .. }) if overflow == Overflow::Null => {
                let mut parts = vec![lower(0..0)?];
                self.overflows += append(&mut parts, 0..windows, &mut lower)?;
                concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())?
            }
            column => column?,
        };
        self.columns.push(column);
        Ok(())
    }
}

/// Appends the results of a range, and null for those that do not fit. Returns how many do not. One
/// that does not fit costs as many calls as the range can be halved.
fn append(
    parts: &mut Vec<ArrayRef>,
    range: Range<usize>,
    lower: &mut impl FnMut(Range<usize>) -> Result<ArrayRef>,
) -> Result<u64> {
    match lower(range.clone()) {
        Err(Error::ResultOverflow { .. }) if range.len() == 1 => {
            let empty = lower(0..0)?;
            parts.push(new_null_array(empty.data_type(), 1));
            Ok(1)
        }
        Err(Error::ResultOverflow { .. }) => {
            let middle = range.start + range.len() / 2;
            let first = append(parts, range.start..middle, lower)?;
            Ok(first + append(parts, middle..range.end, lower)?)
        }
        results => {
            parts.push(results?);
            Ok(0)
        }
    }
}

/// An error of the aggregate at a position.
pub(super) fn of_aggregate(error: Error, position: usize) -> Error {
    match error {
        Error::ResultOverflow { window, reason, .. } => Error::ResultOverflow {
            aggregate: position,
            window,
            reason,
        },
        other => other,
    }
}
