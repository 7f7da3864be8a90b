//! The columns of blocks: each layout is written and read in one file.
//!
//! | file | a row of the block | columns after those of the keys |
//! |---|---|---|
//! | [`partial_sessions`] | a partial session | `start`, `end`, `reach` of dynamic gaps, states |
//! | [`session_records`] | a record of a session query | `time`, `gap` of dynamic gaps, `arrival` where it matters, inputs |
//! | [`sliding_records`] | a record of a sliding query | `time`, `arrival`, inputs |
//! | [`whole_rows`] | a row of a query for rows | (no keys: the columns of the input), `arrival` |
//!
//! Times and arrivals are int64. The columns have no names: a block is read by the query that wrote
//! it.

pub(super) mod partial_sessions;
pub(super) mod session_records;
pub(super) mod sliding_records;
pub(super) mod whole_rows;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use crate::error::{Error, Result};

/// The columns of a block, as they are read one after the other.
struct BlockReader<'a> {
    block: &'a RecordBatch,
    rest: &'a [ArrayRef],
}

impl<'a> BlockReader<'a> {
    fn new(block: &'a RecordBatch) -> Self {
        Self {
            block,
            rest: block.columns(),
        }
    }

    /// The error of a block of other columns.
    fn unexpected(&self) -> Error {
        Error::Format {
            what: "block",
            reason: format!("unexpected columns {:?}", self.block.schema().fields()),
        }
    }

    /// The next `count` columns.
    fn arrays(&mut self, count: usize) -> Result<&'a [ArrayRef]> {
        let (arrays, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| self.unexpected())?;
        self.rest = rest;
        Ok(arrays)
    }

    /// The numbers of the next column.
    fn numbers(&mut self) -> Result<&'a [i64]> {
        let numbers = match self.arrays(1)? {
            [array] => array.as_primitive_opt::<Int64Type>(),
            _ => None,
        };
        Ok(numbers.ok_or_else(|| self.unexpected())?.values())
    }

    /// All columns that remain.
    fn remaining(self) -> &'a [ArrayRef] {
        self.rest
    }
}

/// A column of numbers.
fn numbers(numbers: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers))
}
