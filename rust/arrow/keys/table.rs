//! Words to numbers: a hash table whose entries hold the key, or stand for it, in one word.

use hashbrown::HashTable;

use super::too_many;
use crate::error::Result;
use crate::key::KeyId;

/// What an entry holds of its key.
pub(super) trait Word: Copy + Eq {
    /// A hash whose high and low bits are both good.
    fn hash(self) -> u64;
}

/// Odd numbers without a pattern.
pub(super) const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
/// Another.
pub(super) const SECOND: u64 = 0xD1B5_4A32_D192_ED03;

/// Both halves of the product, folded.
#[inline]
pub(super) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Word for u32 {
    #[inline]
    fn hash(self) -> u64 {
        fold(u64::from(self) ^ SECOND, FIRST)
    }
}

impl Word for u64 {
    #[inline]
    fn hash(self) -> u64 {
        fold(self ^ SECOND, FIRST)
    }
}

/// The hash of 16 bytes or more.
#[inline]
pub(super) fn hash_long(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8; 16]| u128::from_le_bytes(*chunk);
    let mix = |seed: u64, word: u128| fold(word as u64 ^ seed, (word >> 64) as u64 ^ SECOND);
    let (chunks, _) = bytes.as_chunks::<16>();
    let hash = chunks
        .iter()
        .fold(FIRST, |seed, chunk| mix(seed, word(chunk)));
    // The last 16 bytes hold what the chunks leave over; once more where they leave nothing.
    let hash = bytes
        .last_chunk::<16>()
        .map_or(hash, |chunk| mix(hash, word(chunk)));
    fold(hash ^ bytes.len() as u64, FIRST)
}

/// The numbers of all keys seen.
pub(super) struct Table<W> {
    entries: HashTable<(W, KeyId)>,
    /// Logs come in bursts: the key of the row before is tried first.
    previous: Option<(W, KeyId)>,
    known: usize,
}

impl<W: Word> Table<W> {
    pub(super) fn new() -> Self {
        Self {
            entries: HashTable::new(),
            previous: None,
            known: 0,
        }
    }

    /// The number of a key. `same` tells, of a key with an equal word, whether it is this one;
    /// `add` stores a new key.
    #[inline]
    pub(super) fn number(
        &mut self,
        word: W,
        same: impl Fn(KeyId) -> bool,
        add: impl FnOnce() -> Result<()>,
    ) -> Result<KeyId> {
        if let Some((previous, id)) = self.previous
            && previous == word
            && same(id)
        {
            return Ok(id);
        }
        let hash = word.hash();
        let id = match self
            .entries
            .find(hash, |entry| entry.0 == word && same(entry.1))
        {
            Some(entry) => entry.1,
            None => self.insert(hash, word, add)?,
        };
        self.previous = Some((word, id));
        Ok(id)
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, hash: u64, word: W, add: impl FnOnce() -> Result<()>) -> Result<KeyId> {
        let id = KeyId::after(self.known).ok_or_else(too_many)?;
        add()?;
        self.entries
            .insert_unique(hash, (word, id), |entry| entry.0.hash());
        self.known += 1;
        Ok(id)
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.previous = None;
        self.known = 0;
    }
}
