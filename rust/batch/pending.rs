//! Rows that wait: for the numbers of their keys, then for their sessions.

use std::iter::repeat;

use arrow_array::{Array, UInt32Array};

use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::session::session_windows::Gap;
use crate::core::sort::pick;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use crate::input::records::Records;

/// Rows whose keys are numbered at once: so many that the table of keys stays in a core's caches
/// meanwhile, so few that they stay there too. A choice of speed.
const ROWS: usize = 1 << 14;

/// Bytes of the buffers of key columns that may wait: a column may be a small part of its buffers,
/// which stay in memory as long as it does.
const BYTES: usize = 8 << 20;

/// Rows whose keys have no numbers yet, in the order they came.
#[derive(Default)]
pub(super) struct PendingRows {
    inputs: Vec<Records>,
    rows: usize,
    bytes: usize,
}

impl PendingRows {
    /// Adds rows.
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

/// Rows with the numbers of their keys, which wait for their sessions, in the order they came.
#[derive(Default)]
pub(super) struct NumberedRows {
    rows: usize,
    inputs: Vec<(Vec<KeyId>, Records)>,
}

impl NumberedRows {
    /// Adds rows; `keys` are parallel to them.
    pub fn add(&mut self, keys: Vec<KeyId>, input: Records) {
        self.rows += input.rows();
        self.inputs.push((keys, input));
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The batches of rows.
    pub fn inputs(&self) -> impl Iterator<Item = &Records> {
        self.inputs.iter().map(|(_, input)| input)
    }

    /// The key of each row.
    pub fn keys(&self) -> Vec<KeyId> {
        self.joined(|(keys, _)| keys)
    }

    /// The time of each row.
    pub fn times(&self) -> Vec<Time> {
        self.joined(|(_, input)| input.times())
    }

    /// The own gap of each row, where rows have such.
    pub fn gaps(&self) -> Vec<Span> {
        self.joined(|(_, input)| input.gaps())
    }

    /// The arrival of each row, where an aggregate asks for it.
    pub fn seq_nos(&self) -> Vec<SeqNo> {
        self.joined(|(_, input)| input.seq_nos())
    }

    /// The batch of each row, and its row in there.
    pub fn addresses(&self) -> Vec<(usize, usize)> {
        let numbered = self.inputs().enumerate();
        numbered
            .flat_map(|(nth, input)| (0..input.rows()).map(move |row| (nth, row)))
            .collect()
    }

    /// Gives the rows other numbers of their keys, which are parallel to them.
    pub fn renumber(&mut self, keys: &[KeyId]) {
        let mut keys = keys.iter();
        let rows = self.inputs.iter_mut().flat_map(|(own, _)| own);
        rows.zip(&mut keys).for_each(|(own, &key)| *own = key);
    }

    /// The rows before a time, which leave; the others stay.
    ///
    /// # Errors
    ///
    /// None of rows that were read.
    pub fn take_before(&mut self, time: Time) -> Result<Self> {
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

    /// The key of each row, and how far it reaches.
    pub fn extents(&self, gap: Gap) -> impl Iterator<Item = (KeyId, Extent)> {
        self.inputs.iter().flat_map(move |(keys, input)| {
            let gaps = input.gaps().iter().copied().chain(repeat(gap.longest()));
            keys.iter()
                .zip(input.times())
                .zip(gaps)
                .map(|((&key, &time), gap)| (key, Extent::of(time, gap)))
        })
    }

    /// What is parallel to the rows of each batch, one batch after the other.
    fn joined<T: Copy>(&self, column: impl Fn(&(Vec<KeyId>, Records)) -> &[T]) -> Vec<T> {
        let mut joined = Vec::with_capacity(self.rows);
        self.inputs
            .iter()
            .for_each(|input| joined.extend_from_slice(column(input)));
        joined
    }
}
