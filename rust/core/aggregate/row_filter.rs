//! The rows that an aggregate sees: the rows of one input of a cogroup, the rows where a boolean
//! column is true (SQL's `FILTER`), or both.
//!
//! ```text
//!   row        0  1  2  3  4  5  6
//!   input      0  1  1  0  1  0  1
//!   of input 1    0  1     2     3         span [1, 5) of all rows is span [0, 3) of its own
//! ```

use std::ops::Range;

use arrow_array::ArrayRef;

use super::column::gather;
use super::scalar::Scalar;
use super::{InputRows, RowSpan, SeqNo};
use crate::core::error::{Error, Result};
use crate::core::sort::{pick, pick_optional};
use crate::core::time::Time;

/// Which rows an aggregate sees. The default is all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    /// It sees only the rows of this input of a cogroup.
    pub input: Option<u32>,
    /// It sees only the rows where this input column holds 1. Null does not count as 1.
    pub column: Option<usize>,
}

impl RowFilter {
    /// Whether it takes every row.
    fn takes_all(self) -> bool {
        self == Self::default()
    }

    /// Whether one row is taken. `inputs` are all input columns; in a cogroup the last one is the
    /// input of each row.
    pub(super) fn takes(self, row: usize, inputs: &[ArrayRef]) -> Result<bool> {
        if self.takes_all() {
            return Ok(true);
        }
        let column = self
            .column
            .map(|column| flags(inputs, column))
            .transpose()?;
        let numbers = self.input.map(|_| numbers(inputs)).transpose()?;
        Ok(holds(numbers, self.input.map(i64::from), row)? && holds(column, Some(1), row)?)
    }
}

/// Whether a column holds an integer in a row; true without a column.
fn holds(column: Option<&ArrayRef>, wanted: Option<i64>, row: usize) -> Result<bool> {
    match column {
        None => Ok(true),
        Some(column) => Ok(i64::read(i64::view(column)?, row) == wanted),
    }
}

/// The column of the rows' inputs.
fn numbers(inputs: &[ArrayRef]) -> Result<&ArrayRef> {
    inputs.last().ok_or(Error::Internal(
        "an aggregate of one input lacks the column of inputs",
    ))
}

/// The boolean column of a filter.
fn flags(inputs: &[ArrayRef], column: usize) -> Result<&ArrayRef> {
    inputs.get(column).ok_or(Error::Internal(
        "an aggregate with a condition lacks the column of the condition",
    ))
}

/// The rows that filters take, selected once for each filter.
pub(super) struct Selections<'a> {
    rows: Range<usize>,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    inputs: &'a [ArrayRef],
    selections: Vec<Selection>,
}

/// The rows that a filter takes, in their order.
pub(super) struct Selection {
    filter: RowFilter,
    rows: Vec<u32>,
    all: bool,
    times: Vec<Time>,
    seq_nos: Vec<SeqNo>,
}

impl<'a> Selections<'a> {
    /// Of a range of rows; `inputs` are all input columns.
    pub(super) fn new(
        rows: Range<usize>,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [ArrayRef],
    ) -> Self {
        Self {
            rows,
            times,
            seq_nos,
            inputs,
            selections: Vec::new(),
        }
    }

    /// The rows that a filter takes; none if it takes every row.
    pub(super) fn get(&mut self, filter: RowFilter) -> Result<Option<&Selection>> {
        if filter.takes_all() {
            return Ok(None);
        }
        let known = |selection: &Selection| selection.filter == filter;
        let position = match self.selections.iter().position(known) {
            Some(position) => position,
            None => {
                self.selections.push(self.select(filter)?);
                self.selections.len() - 1
            }
        };
        Ok(self.selections.get(position))
    }

    fn select(&self, filter: RowFilter) -> Result<Selection> {
        let mut rows: Vec<u32> = self.rows.clone().map(|row| row as u32).collect();
        if let Some(input) = filter.input {
            keep(&mut rows, numbers(self.inputs)?, input.into())?;
        }
        if let Some(column) = filter.column {
            keep(&mut rows, flags(self.inputs, column)?, 1)?;
        }
        if rows.len() == self.rows.len() {
            return Ok(Selection {
                filter,
                rows,
                all: true,
                times: Vec::new(),
                seq_nos: Vec::new(),
            });
        }
        Ok(Selection {
            filter,
            all: false,
            times: pick(self.times, &rows)?,
            seq_nos: pick_optional(self.seq_nos, &rows)?,
            rows,
        })
    }
}

/// Keeps the rows in which a column holds an integer.
fn keep(rows: &mut Vec<u32>, column: &ArrayRef, wanted: i64) -> Result<()> {
    let values = i64::view(column)?;
    rows.retain(|&row| i64::read(values, row as usize) == Some(wanted));
    Ok(())
}

impl Selection {
    /// Whether no row is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all rows are taken. They are then used without a copy.
    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    /// The entries of these rows.
    pub(super) fn select<T: Copy>(&self, entries: &[T]) -> Result<Vec<T>> {
        pick(entries, &self.rows)
    }

    /// The entries of these rows in columns.
    pub(super) fn columns(&self, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        columns
            .iter()
            .map(|column| gather(column, &self.rows))
            .collect()
    }

    /// These rows, with their [`Self::columns`].
    pub(super) fn rows<'b>(&'b self, columns: &'b [ArrayRef]) -> InputRows<'b> {
        InputRows {
            times: &self.times,
            seq_nos: &self.seq_nos,
            inputs: columns,
        }
    }

    /// Row spans of all rows as spans of these.
    pub(super) fn spans(&self, spans: &[RowSpan]) -> Vec<RowSpan> {
        let (mut from, mut to) = (0, 0);
        let advance = |position: &mut usize, bound: u32| {
            while self.rows.get(*position).is_some_and(|&row| row < bound) {
                *position += 1;
            }
            *position as u32
        };
        spans
            .iter()
            .map(|span| RowSpan {
                from: advance(&mut from, span.from),
                to: advance(&mut to, span.to),
            })
            .collect()
    }
}
