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

/// The rows of each input that was asked for.
pub(super) struct Origins<'a> {
    among: Range<usize>,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    numbers: Option<&'a Column<'a>>,
    known: Vec<Own>,
}

/// The rows of one input, in their order.
pub(super) struct Own {
    input: u32,
    rows: Vec<u32>,
    all: bool,
    times: Vec<Time>,
    seq_nos: Vec<SeqNo>,
}

impl<'a> Origins<'a> {
    /// Of the rows `among`; `numbers` is the column of their inputs.
    pub fn new(
        among: Range<usize>,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        numbers: Option<&'a Column<'a>>,
    ) -> Self {
        Self {
            among,
            times,
            seq_nos,
            numbers,
            known: Vec::new(),
        }
    }

    /// The rows of an input, looked for once.
    pub fn of(&mut self, input: u32) -> Result<&Own> {
        let place = match self.known.iter().position(|own| own.input == input) {
            Some(place) => place,
            None => {
                self.known.push(self.find(input)?);
                self.known.len() - 1
            }
        };
        self.known
            .get(place)
            .ok_or(Error::Internal("the rows of an input were looked for"))
    }

    fn find(&self, input: u32) -> Result<Own> {
        let column = needed(self.numbers)?;
        let numbers = i64::view(column)?;
        let is_own = |&row: &usize| numbers.get(row) == Some(&input.into()) && column.is_valid(row);
        let rows: Vec<u32> = self
            .among
            .clone()
            .filter(is_own)
            .map(|row| row as u32)
            .collect();
        if rows.len() == self.among.len() {
            return Ok(Own {
                input,
                rows,
                all: true,
                times: Vec::new(),
                seq_nos: Vec::new(),
            });
        }
        Ok(Own {
            input,
            all: false,
            times: picked(&rows, self.times),
            seq_nos: picked(&rows, self.seq_nos),
            rows,
        })
    }
}

impl Own {
    /// Whether no row is of this input.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all rows are of this input: then they need not be picked.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// The entries of these rows.
    pub fn pick<T: Copy>(&self, entries: &[T]) -> Vec<T> {
        picked(&self.rows, entries)
    }

    /// Columns cut down to these rows.
    pub fn columns(&self, columns: &[Column<'_>]) -> Vec<Column<'static>> {
        columns
            .iter()
            .map(|column| column.gather(&self.rows))
            .collect()
    }

    /// These rows, with columns that were cut down to them.
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
        let go = |place: &mut usize, bound: u32| {
            while self.rows.get(*place).is_some_and(|&row| row < bound) {
                *place += 1;
            }
            *place as u32
        };
        runs.iter()
            .map(|run| Run {
                from: go(&mut from, run.from),
                to: go(&mut to, run.to),
            })
            .collect()
    }
}

fn needed<'b, 'a>(numbers: Option<&'b Column<'a>>) -> Result<&'b Column<'a>> {
    numbers.ok_or(Error::Internal(
        "an aggregate of one input needs the column of inputs",
    ))
}

/// Whether one row is of an input; `numbers` is the column of the rows' inputs.
pub(super) fn is_of(input: u32, row: usize, numbers: Option<&Column<'_>>) -> Result<bool> {
    Ok(i64::read(needed(numbers)?, row)? == Some(input.into()))
}

fn picked<T: Copy>(rows: &[u32], entries: &[T]) -> Vec<T> {
    rows.iter()
        .filter_map(|&row| entries.get(row as usize).copied())
        .collect()
}
