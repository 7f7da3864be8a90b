//! Rows by parts of the keys: what the rows of a part hit at random, keys, open sessions and
//! states, stays in a core's caches, and threads share nothing.
//!
//! ```text
//!   rows          b d a b c a b      a and c are of part 0, b and d of part 1
//!   by part       a c a│b d b b
//! ```

use arrow_array::UInt32Array;

use crate::arrow::read::records::Records;
use crate::error::Result;

/// The logarithm of the number of parts.
const BITS: u32 = 5;
/// The number of parts.
pub(crate) const PARTS: usize = 1 << BITS;

/// The part of a key's hash: bits that no hash table looks at.
fn part(hash: u64) -> usize {
    (hash >> 32) as usize & (PARTS - 1)
}

/// Rows of an input, those of a part next to each other and in their order.
pub(crate) struct Partitions {
    input: Records,
    /// Where the rows of each part end.
    ends: [usize; PARTS],
}

impl Partitions {
    /// The rows of an input, whose keys have these hashes.
    pub fn new(input: &Records, hashes: &[u64]) -> Result<Self> {
        let mut counts = [0_usize; PARTS];
        for &hash in hashes {
            if let Some(count) = counts.get_mut(part(hash)) {
                *count += 1;
            }
        }
        let mut end = 0;
        // Where the next row of each part goes; in the end, where its rows end.
        let mut ends = counts.map(|count| {
            end += count;
            end - count
        });
        let mut rows = vec![0; hashes.len()];
        for (number, &hash) in (0..).zip(hashes) {
            let Some(next) = ends.get_mut(part(hash)) else {
                continue;
            };
            if let Some(row) = rows.get_mut(*next) {
                *row = number;
            }
            *next += 1;
        }
        // All at once: part by part, what is picked from would leave the caches in between.
        Ok(Self {
            input: input.pick(&UInt32Array::from(rows))?,
            ends,
        })
    }

    /// The rows of a part; none where it has none. They may wait long: few of them are copied, and
    /// do not hold on to all the others.
    pub fn of(&self, part: usize) -> Result<Option<Records>> {
        let start = part
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or_default();
        let rows = start..self.ends.get(part).copied().unwrap_or_default();
        Ok(match rows.len() {
            0 => None,
            few if few * PARTS * 2 < self.input.rows() => {
                Some(self.input.pick(&rows.map(|row| row as u32).collect())?)
            }
            _ => Some(self.input.slice(rows)),
        })
    }
}
