//! Rows whose keys have no numbers yet: of many rows at once, the table of keys stays in a core's caches.

use super::input::Input;
use crate::error::Result;

/// Rows that are enough.
const ROWS: usize = 1 << 14;
/// Inputs that are enough: few rows of each may hold on to all that came with them.
const INPUTS: usize = 8;
/// Bytes of keys that are enough.
const BYTES: usize = 2 << 20;

/// Rows in the order they came.
#[derive(Default)]
pub(super) struct Fresh {
    inputs: Vec<Input>,
    rows: usize,
    bytes: usize,
}

impl Fresh {
    /// Takes rows in.
    pub fn add(&mut self, input: Input) -> Result<()> {
        self.rows += input.rows();
        self.bytes += input.key_bytes()?;
        self.inputs.push(input);
        Ok(())
    }

    /// Whether they shall wait no longer, and no more than `most` of them.
    pub fn is_enough(&self, most: usize) -> bool {
        self.rows >= most.min(ROWS) || self.inputs.len() >= INPUTS || self.bytes >= BYTES
    }

    /// Hands them out; none remain.
    pub fn take(&mut self) -> Vec<Input> {
        std::mem::take(self).inputs
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
}
