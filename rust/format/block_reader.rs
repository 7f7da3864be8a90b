//! Reads the columns of a block one after the other.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use crate::core::error::{Error, Result};

/// Reads the columns of a block one after the other.
pub(crate) struct BlockReader<'a> {
    block: &'a RecordBatch,
    /// The columns not read yet.
    pub rest: &'a [ArrayRef],
}

impl<'a> BlockReader<'a> {
    /// Starts at the first column.
    pub(crate) fn new(block: &'a RecordBatch) -> Self {
        Self {
            block,
            rest: block.columns(),
        }
    }

    /// The error for unexpected columns.
    pub(crate) fn unexpected(&self) -> Error {
        Error::Format {
            what: "block",
            reason: format!("unexpected columns {:?}", self.block.schema().fields()),
        }
    }

    /// The next `count` columns.
    pub(crate) fn arrays(&mut self, count: usize) -> Result<&'a [ArrayRef]> {
        let (arrays, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| self.unexpected())?;
        self.rest = rest;
        Ok(arrays)
    }

    /// The values of the next column.
    pub(crate) fn numbers(&mut self) -> Result<&'a [i64]> {
        let numbers = match self.arrays(1)? {
            [array] => array.as_primitive_opt::<Int64Type>(),
            _ => None,
        };
        Ok(numbers.ok_or_else(|| self.unexpected())?.values())
    }

    /// All remaining columns.
    pub(crate) fn remaining(self) -> &'a [ArrayRef] {
        self.rest
    }
}

/// An `Int64` column of these values.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers))
}
