//! Rows that wait, first for key numbers and then for sessions.

use arrow_array::{Array, ArrayRef, UInt32Array};

use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::session::session_windows::Gap;
use crate::core::sort::pick;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::input::records::Records;

/// How many bytes of key column buffers may wait. A column can be a small slice of its buffers, but
/// it keeps them all in memory.
const HELD_BYTES: usize = 8 << 20;

/// Rows whose keys have no numbers yet, in order of arrival.
#[derive(Default)]
pub(super) struct PendingRows {
    inputs: Vec<Records>,
    rows: usize,
    bytes: usize,
}

impl PendingRows {
    /// Adds rows.
    pub(super) fn add(&mut self, input: Records) {
        self.rows += input.rows();
        self.bytes += input
            .keys
            .iter()
            .map(|key| key.get_array_memory_size())
            .sum::<usize>();
        self.inputs.push(input);
    }

    /// Whether the rows should wait no longer. At most about `most` rows wait.
    pub(super) fn is_enough(&self, most: usize) -> bool {
        self.rows >= most || self.bytes >= HELD_BYTES
    }

    /// The batches of rows.
    pub(super) fn inputs(&self) -> &[Records] {
        &self.inputs
    }

    /// The bytes that their key columns hold in memory.
    pub(super) fn key_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the rows and leaves none.
    pub(super) fn take(&mut self) -> Vec<Records> {
        std::mem::take(self).inputs
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

/// Rows with key numbers that wait for their sessions, in order of arrival.
#[derive(Default)]
pub(super) struct NumberedRows {
    rows: usize,
    inputs: Vec<(Vec<KeyId>, Records)>,
}

impl NumberedRows {
    /// Adds rows; `keys` is parallel to them.
    pub(super) fn add(&mut self, keys: Vec<KeyId>, input: Records) {
        self.rows += input.rows();
        self.inputs.push((keys, input));
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The batches of rows.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Records> {
        self.inputs.iter().map(|(_, input)| input)
    }

    /// The key of each row.
    pub(super) fn keys(&self) -> Vec<KeyId> {
        let keys = self.inputs.iter().map(|(keys, _)| keys.as_slice());
        keys.collect::<Vec<_>>().concat()
    }

    /// A column of all rows.
    pub(super) fn column<T: Copy>(&self, of: impl Fn(&Records) -> &[T]) -> Vec<T> {
        let columns: Vec<&[T]> = self.inputs().map(of).collect();
        columns.concat()
    }

    /// The rows as one batch, with these key columns.
    pub(super) fn joined_with(self, keys: Vec<ArrayRef>) -> Result<Records> {
        let inputs: Vec<Records> = self.inputs.into_iter().map(|(_, input)| input).collect();
        let mut joined = Records::concat(&inputs)?;
        joined.keys = keys;
        Ok(joined)
    }

    /// Replaces the key numbers of the rows; `keys` is parallel to them.
    pub(super) fn renumber(&mut self, keys: &[KeyId]) {
        let mut keys = keys.iter();
        let rows = self.inputs.iter_mut().flat_map(|(own, _)| own);
        rows.zip(&mut keys).for_each(|(own, &key)| *own = key);
    }

    /// Removes and returns the rows before a time.
    pub(super) fn take_before(&mut self, time: Time) -> Result<Self> {
        let mut before = Self::default();
        for (keys, input) in std::mem::take(self).inputs {
            let is_before = |row: &u32| {
                let own = input.times().get(*row as usize);
                own.is_some_and(|&own| own < time)
            };
            let (earlier, others): (Vec<u32>, Vec<u32>) =
                (0..input.rows() as u32).partition(is_before);
            match (earlier.is_empty(), others.is_empty()) {
                (true, _) => self.add(keys, input),
                (_, true) => before.add(keys, input),
                _ => {
                    for (rows, to) in [(earlier, &mut before), (others, &mut *self)] {
                        let keys = pick(&keys, &rows)?;
                        to.add(keys, input.pick(&UInt32Array::from(rows))?);
                    }
                }
            }
        }
        Ok(before)
    }

    /// The key and the extent of each row.
    pub(super) fn extents(&self, gap: Gap) -> impl Iterator<Item = (KeyId, Extent)> {
        self.inputs
            .iter()
            .flat_map(move |(keys, input)| keys.iter().copied().zip(input.extents(gap)))
    }
}
