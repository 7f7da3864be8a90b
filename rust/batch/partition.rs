//! Rows by partitions of the keys: what the rows of a partition access at random, which is keys,
//! open sessions and states, stays in a core's caches, and threads share nothing.
//!
//! ```text
//!   rows            b d a b c a b      a and c are of partition 0, b and d of partition 1
//!   by partition    a c a│b d b b
//! ```

use arrow_array::UInt32Array;

use crate::core::error::Result;
use crate::input::records::Records;

/// The logarithm of the number of partitions.
const BITS: u32 = 5;

/// The number of partitions.
pub(super) const PARTITIONS: usize = 1 << BITS;

/// The partition of a key's hash: bits that no hash table uses.
fn partition(hash: u64) -> usize {
    (hash >> 32) as usize & (PARTITIONS - 1)
}

/// Rows of an input, those of a partition next to each other and in their order.
pub(super) struct Partitions {
    input: Records,
    /// Where the rows of each partition end.
    ends: [usize; PARTITIONS],
}

impl Partitions {
    /// The rows of an input, whose keys have these hashes.
    pub fn new(input: &Records, hashes: &[u64]) -> Result<Self> {
        let mut counts = [0_usize; PARTITIONS];
        for &hash in hashes {
            if let Some(count) = counts.get_mut(partition(hash)) {
                *count += 1;
            }
        }
        let mut end = 0;
        // Where the next row of each partition goes; in the end, where its rows end.
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
        // All partitions at once: one after the other, the columns would leave the caches between
        // two of them.
        Ok(Self {
            input: input.pick(&UInt32Array::from(rows))?,
            ends,
        })
    }

    /// The rows of a partition; none where it has none. They may wait long: where they are few they
    /// are copied, so that the other rows do not stay in memory with them.
    pub fn rows_of(&self, partition: usize) -> Result<Option<Records>> {
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
