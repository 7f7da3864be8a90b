//! A set of hashes of keys that may contain other keys too: a Bloom filter with one bit for a key.

/// The bits for each hash. One in sixteen of the keys that were not added seems to be there.
const BITS: usize = 16;

/// A set of hashes. Only their low bits count.
pub(crate) struct BloomFilter(Vec<u64>);

impl BloomFilter {
    /// A set with room for this many hashes.
    pub(crate) fn new(hashes: usize) -> Self {
        let bits = hashes.max(1).saturating_mul(BITS).next_power_of_two();
        Self(vec![0; bits.div_ceil(64)])
    }

    /// Adds a hash. Returns whether it is new, so that the true answers count the distinct hashes.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        let Some(word) = self.0.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether a hash may have been added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The word of a hash, and its bit there.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        // The number of words is a power of two.
        ((hash >> 6) as usize & (self.0.len() - 1), 1 << (hash & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that are spread over all bits.
    fn hashes(from: u64, to: u64) -> impl Iterator<Item = u64> {
        (from..to).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7)
    }

    #[test]
    fn what_was_added_is_there_and_few_others_are() {
        for rows in [0, 1, 1_000] {
            let mut filter = BloomFilter::new(rows as usize);
            let distinct = hashes(0, rows).filter(|&hash| filter.insert(hash)).count() as u64;
            assert!(distinct * 10 >= rows * 9 && distinct <= rows, "{distinct}");
            assert!(hashes(0, rows).all(|hash| filter.may_contain(hash)));
            assert!(hashes(0, rows).all(|hash| !filter.insert(hash)));
            let others = hashes(1_000, 2_000).filter(|&hash| filter.may_contain(hash));
            assert!(others.count() < 100);
        }
    }
}
