//! Partitions rows by key. Keys, open sessions and states are accessed at random. In one partition
//! they stay in a core's caches, and threads share nothing.
//!
//! ```text
//!   rows            b d a b c a b      a and c are in partition 0, b and d in partition 1
//!   by partition    a c a│b d b b
//! ```

use arrow_array::UInt32Array;

use crate::core::error::{Error, Result};
use crate::input::records::Records;
use crate::keys::partition_hash::PartitionHash;
use crate::plan::query::Query;

/// Which bits of a key's hash number its partition. No hash table uses these bits.
#[derive(Clone, Copy)]
pub(super) struct PartitionBits {
    shift: u32,
    bits: u32,
}

impl PartitionBits {
    /// The partitions of a run.
    pub(super) const RUN: Self = Self { shift: 32, bits: 5 };

    /// `1 << bits` parts of a partition of a run.
    pub(super) const fn of_part(bits: u32) -> Self {
        Self {
            shift: Self::RUN.shift + Self::RUN.bits,
            bits,
        }
    }

    /// The number of partitions.
    pub(super) const fn partitions(self) -> usize {
        1 << self.bits
    }

    fn partition(self, hash: u64) -> usize {
        (hash >> self.shift) as usize & (self.partitions() - 1)
    }
}

/// Splits rows into partitions.
pub(super) struct Partitioner {
    hash: PartitionHash,
    hashes: Vec<u64>,
}

impl Partitioner {
    /// Splits rows by the keys of a query.
    pub(super) fn new(query: &Query) -> Result<Self> {
        Ok(Self {
            hash: PartitionHash::new(&query.keys)?,
            hashes: Vec::new(),
        })
    }

    /// The hash of each row's key.
    pub(super) fn hashes(&mut self, rows: &Records) -> Result<&[u64]> {
        self.hash.hash(&rows.keys, &mut self.hashes)?;
        Ok(&self.hashes)
    }

    /// Splits rows.
    pub(super) fn split(&mut self, rows: Records, by: PartitionBits) -> Result<Partitions> {
        Ok(Partitions::new(self.hashes(&rows)?, by, rows))
    }
}

/// Rows, and the partition of each. Rows of a partition keep their order.
pub(super) struct Partitions {
    input: Records,
    /// The rows of the first partition, then those of the next.
    rows: UInt32Array,
    /// Where the rows of each partition end.
    ends: Vec<usize>,
}

impl Partitions {
    fn new(hashes: &[u64], by: PartitionBits, input: Records) -> Self {
        let mut next = vec![0_usize; by.partitions()];
        for &hash in hashes {
            if let Some(count) = next.get_mut(by.partition(hash)) {
                *count += 1;
            }
        }
        let mut end = 0;
        // The position of the next row of each partition; finally, the end of its rows.
        for count in &mut next {
            end += *count;
            *count = end - *count;
        }
        let mut rows = vec![0; hashes.len()];
        for (number, &hash) in (0..).zip(hashes) {
            let Some(next) = next.get_mut(by.partition(hash)) else {
                continue;
            };
            if let Some(row) = rows.get_mut(*next) {
                *row = number;
            }
            *next += 1;
        }
        Self {
            input,
            rows: rows.into(),
            ends: next,
        }
    }

    /// Copies the rows of a partition, or `None` if it has none. They may wait long, so they keep no
    /// others in memory.
    pub(super) fn rows_of(&self, partition: usize) -> Result<Option<Records>> {
        let missing = Error::Internal("a partition is out of range");
        let end = *self.ends.get(partition).ok_or(missing)?;
        let before = partition.checked_sub(1);
        let start = before.and_then(|before| self.ends.get(before)).copied();
        let start = start.unwrap_or_default();
        (start < end)
            .then(|| self.input.pick(&self.rows.slice(start, end - start)))
            .transpose()
    }
}
