//! The secret of a table's hash: without it, keys could be chosen that all meet in one place.

use std::hash::{BuildHasher, RandomState};

/// Two words that a hash begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    pub first: u64,
    pub second: u64,
}

impl Seed {
    /// One for all processes, where the order of results depends on the hash.
    pub(super) const FIXED: Self = Self {
        first: 0x9E37_79B9_7F4A_7C15,
        second: 0xD1B5_4A32_D192_ED03,
    };

    /// Another one each time.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self {
            first: random.hash_one(Self::FIXED.first),
            // An odd factor keeps all bits of the other one.
            second: random.hash_one(Self::FIXED.second) | 1,
        }
    }
}

/// Both halves of the product, folded.
#[inline]
pub(super) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of 16 bytes or more.
#[inline]
pub(super) fn hash_long(bytes: &[u8], seed: Seed) -> u64 {
    let word = |chunk: &[u8; 16]| u128::from_le_bytes(*chunk);
    let mix = |state: u64, word: u128| fold(word as u64 ^ state, (word >> 64) as u64 ^ seed.second);
    let (chunks, _) = bytes.as_chunks::<16>();
    let hash = chunks
        .iter()
        .fold(seed.first, |state, chunk| mix(state, word(chunk)));
    // The last 16 bytes hold what the chunks leave over; once more where they leave nothing.
    let hash = bytes
        .last_chunk::<16>()
        .map_or(hash, |chunk| mix(hash, word(chunk)));
    fold(hash ^ bytes.len() as u64, seed.first)
}
