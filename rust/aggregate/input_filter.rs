//! The rows of one input of a cogroup, among those of all inputs.
//!
//! ```text
//!   row        0  1  2  3  4  5  6
//!   input      0  1  1  0  1  0  1
//!   of input 1    0  1     2     3         the run [1, 5) of all rows is the run [0, 3) of its own
//! ```

use std::ops::Range;

use super::column::Column;
use super::scalar::Scalar;
use super::{InputRows, Run, SeqNo};
use crate::error::{Error, Result};
use crate::time::Time;

/// The rows of each input, selected once.
pub(super) struct RowsByInput<'a> {
    rows: Range<usize>,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    inputs: Option<&'a Column<'a>>,
    selections: Vec<Selection>,
}

/// The rows of one input, in their order.
pub(super) struct Selection {
    input: u32,
    rows: Vec<u32>,
    all: bool,
    times: Vec<Time>,
    seq_nos: Vec<SeqNo>,
}

impl<'a> RowsByInput<'a> {
    /// Of a range of rows; `inputs` is the column of the rows' inputs.
    pub fn new(
        rows: Range<usize>,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: Option<&'a Column<'a>>,
    ) -> Self {
        Self {
            rows,
            times,
            seq_nos,
            inputs,
            selections: Vec::new(),
        }
    }

    /// The rows of an input.
    pub fn get(&mut self, input: u32) -> Result<&Selection> {
        let known = |selection: &Selection| selection.input == input;
        let position = match self.selections.iter().position(known) {
            Some(position) => position,
            None => {
                self.selections.push(self.select(input)?);
                self.selections.len() - 1
            }
        };
        self.selections
            .get(position)
            .ok_or(Error::Internal("the rows of an input are selected"))
    }

    fn select(&self, input: u32) -> Result<Selection> {
        let column = required(self.inputs)?;
        let inputs = i64::view(column)?;
        let is_of = |&row: &usize| inputs.get(row) == Some(&input.into()) && column.is_valid(row);
        let rows: Vec<u32> = self
            .rows
            .clone()
            .filter(is_of)
            .map(|row| row as u32)
            .collect();
        if rows.len() == self.rows.len() {
            return Ok(Selection {
                input,
                rows,
                all: true,
                times: Vec::new(),
                seq_nos: Vec::new(),
            });
        }
        Ok(Selection {
            input,
            all: false,
            times: gather(&rows, self.times),
            seq_nos: gather(&rows, self.seq_nos),
            rows,
        })
    }
}

impl Selection {
    /// Whether no row is of this input.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all rows are of this input; then they are used as they are.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// The entries of these rows.
    pub fn select<T: Copy>(&self, entries: &[T]) -> Vec<T> {
        gather(&self.rows, entries)
    }

    /// The entries of these rows in columns.
    pub fn columns(&self, columns: &[Column<'_>]) -> Vec<Column<'static>> {
        columns
            .iter()
            .map(|column| column.gather(&self.rows))
            .collect()
    }

    /// These rows, with their [`Self::columns`].
    pub fn rows<'b>(&'b self, columns: &'b [Column<'b>]) -> InputRows<'b> {
        InputRows {
            times: &self.times,
            seq_nos: &self.seq_nos,
            inputs: columns,
        }
    }

    /// Runs of all rows as runs of these.
    pub fn runs(&self, runs: &[Run]) -> Vec<Run> {
        let (mut from, mut to) = (0, 0);
        let advance = |position: &mut usize, bound: u32| {
            while self.rows.get(*position).is_some_and(|&row| row < bound) {
                *position += 1;
            }
            *position as u32
        };
        runs.iter()
            .map(|run| Run {
                from: advance(&mut from, run.from),
                to: advance(&mut to, run.to),
            })
            .collect()
    }
}

fn required<'b, 'a>(inputs: Option<&'b Column<'a>>) -> Result<&'b Column<'a>> {
    inputs.ok_or(Error::Internal(
        "an aggregate of one input needs the column of inputs",
    ))
}

/// Whether one row is of an input; `inputs` is the column of the rows' inputs.
pub(super) fn is_of(input: u32, row: usize, inputs: Option<&Column<'_>>) -> Result<bool> {
    Ok(i64::read(required(inputs)?, row)? == Some(input.into()))
}

fn gather<T: Copy>(rows: &[u32], entries: &[T]) -> Vec<T> {
    rows.iter()
        .filter_map(|&row| entries.get(row as usize).copied())
        .collect()
}
