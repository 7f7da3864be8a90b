//! Rows whose keys have no numbers yet: of many rows at once, the table of keys stays in a core's
//! caches.

use arrow_array::Array;

use crate::arrow::read::records::Records;

/// Rows that are enough.
const ROWS: usize = 1 << 14;
/// Bytes that are enough, of all that their key columns hold on to: a column may be a small part of
/// its buffers.
const BYTES: usize = 8 << 20;

/// Rows in the order they came.
#[derive(Default)]
pub(crate) struct PendingRows {
    inputs: Vec<Records>,
    rows: usize,
    bytes: usize,
}

impl PendingRows {
    /// Takes rows in.
    pub fn add(&mut self, input: Records) {
        self.rows += input.rows();
        self.bytes += input
            .keys
            .iter()
            .map(|key| key.get_array_memory_size())
            .sum::<usize>();
        self.inputs.push(input);
    }

    /// Whether they shall wait no longer: never more than about `most` of them.
    pub fn is_enough(&self, most: usize) -> bool {
        self.rows >= most.min(ROWS) || self.bytes >= BYTES
    }

    /// Hands them out; none remain.
    pub fn take(&mut self) -> Vec<Records> {
        std::mem::take(self).inputs
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
}
