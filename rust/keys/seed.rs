//! The secret of a table's hash. Without it, an attacker could choose keys that all collide.

use std::hash::{BuildHasher, RandomState};

/// The two words that start a hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    pub first: u64,
    pub second: u64,
}

impl Seed {
    /// The same seed in all processes, for hashes that determine the order of results.
    pub(super) const FIXED: Self = Self {
        first: 0x9E37_79B9_7F4A_7C15,
        second: 0xD1B5_4A32_D192_ED03,
    };

    /// A new seed on each call.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self {
            first: random.hash_one(Self::FIXED.first),
            // An odd factor preserves all bits of the other factor.
            second: random.hash_one(Self::FIXED.second) | 1,
        }
    }
}

/// Multiplies and folds both halves of the product.
#[inline]
pub(super) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of 16 or more bytes.
#[inline]
pub(super) fn hash_long(bytes: &[u8], seed: Seed) -> u64 {
    let word = |chunk: &[u8; 16]| u128::from_le_bytes(*chunk);
    let mix = |state: u64, word: u128| fold(word as u64 ^ state, (word >> 64) as u64 ^ seed.second);
    let (chunks, _) = bytes.as_chunks::<16>();
    let hash = chunks
        .iter()
        .fold(seed.first, |state, chunk| mix(state, word(chunk)));
    // The last 16 bytes include the remainder of the chunks. Without a remainder, they count twice.
    let hash = bytes
        .last_chunk::<16>()
        .map_or(hash, |chunk| mix(hash, word(chunk)));
    fold(hash ^ bytes.len() as u64, seed.first)
}
