//! Partitions rows by key. Keys, open sessions and states are accessed at random. In one partition
//! they stay in a core's caches, and threads share nothing.
//!
//! ```text
//!   rows            b d a b c a b      a and c are in partition 0, b and d in partition 1
//!   by partition    a c a│b d b b
//! ```

use arrow_array::UInt32Array;

use crate::core::error::Result;
use crate::input::records::Records;

/// Log2 of the number of partitions.
const BITS: u32 = 5;

/// The number of partitions.
pub(super) const PARTITIONS: usize = 1 << BITS;

/// The partition of a key's hash. Uses bits that no hash table uses.
fn partition(hash: u64) -> usize {
    (hash >> 32) as usize & (PARTITIONS - 1)
}

/// The rows of an input, grouped by partition. Rows of a partition keep their order.
pub(super) struct Partitions {
    input: Records,
    /// Where the rows of each partition end.
    ends: [usize; PARTITIONS],
}

impl Partitions {
    /// Partitions the rows of an input; `hashes` has the hash of each row's key.
    pub(super) fn new(input: &Records, hashes: &[u64]) -> Result<Self> {
        let mut counts = [0_usize; PARTITIONS];
        for &hash in hashes {
            if let Some(count) = counts.get_mut(partition(hash)) {
                *count += 1;
            }
        }
        let mut end = 0;
        // The position of the next row of each partition; finally, the end of its rows.
        let mut ends = counts.map(|count| {
            end += count;
            end - count
        });
        let mut rows = vec![0; hashes.len()];
        for (number, &hash) in (0..).zip(hashes) {
            let Some(next) = ends.get_mut(partition(hash)) else {
                continue;
            };
            if let Some(row) = rows.get_mut(*next) {
                *row = number;
            }
            *next += 1;
        }
        // Picks all partitions at once. Otherwise the columns would leave the caches between two
        // partitions.
        Ok(Self {
            input: input.pick(&UInt32Array::from(rows))?,
            ends,
        })
    }

    /// The rows of a partition, or `None` if it has none. Rows may wait long. A few rows are
    /// copied, so that they do not keep all others in memory.
    pub(super) fn rows_of(&self, partition: usize) -> Result<Option<Records>> {
        let start = partition
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or_default();
        let rows = start..self.ends.get(partition).copied().unwrap_or_default();
        Ok(match rows.len() {
            0 => None,
            few if few * PARTITIONS * 2 < self.input.rows() => {
                Some(self.input.pick(&rows.map(|row| row as u32).collect())?)
            }
            _ => Some(self.input.slice(rows)?),
        })
    }
}
