//! A hash table from words to numbers. A word contains the key or represents it.

use hashbrown::HashTable;

use super::seed::{Seed, fold};
use super::too_many;
use crate::core::error::Result;
use crate::core::key::KeyId;

/// The part of an entry that represents its key.
pub(super) trait Word: Copy + Eq {
    /// A hash with good high and low bits.
    fn hash(self, seed: Seed) -> u64;
}

impl Word for u32 {
    #[inline]
    fn hash(self, seed: Seed) -> u64 {
        fold(u64::from(self) ^ seed.second, seed.first)
    }
}

impl Word for u64 {
    #[inline]
    fn hash(self, seed: Seed) -> u64 {
        fold(self ^ seed.second, seed.first)
    }
}

/// The numbers of all keys seen.
pub(super) struct Table<W> {
    entries: HashTable<(W, KeyId)>,
    seed: Seed,
    /// Logs come in bursts, so the key of the previous row is tried first.
    previous: Option<(W, KeyId)>,
    known: usize,
}

impl<W: Word> Table<W> {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            entries: HashTable::new(),
            seed,
            previous: None,
            known: 0,
        }
    }

    /// The number of a key. `same` decides whether a known key with an equal word is this key.
    /// `add` stores a new key.
    #[inline]
    pub(super) fn number(
        &mut self,
        word: W,
        same: impl Fn(KeyId) -> bool,
        add: impl FnOnce(),
    ) -> Result<KeyId> {
        if let Some((previous, id)) = self.previous
            && previous == word
            && same(id)
        {
            return Ok(id);
        }
        let hash = word.hash(self.seed);
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
    fn insert(&mut self, hash: u64, word: W, add: impl FnOnce()) -> Result<KeyId> {
        let id = KeyId::after(self.known).ok_or_else(too_many)?;
        add();
        let seed = self.seed;
        self.entries
            .insert_unique(hash, (word, id), |entry| entry.0.hash(seed));
        self.known += 1;
        Ok(id)
    }

    pub(super) fn reserve(&mut self, keys: usize) {
        let seed = self.seed;
        self.entries.reserve(keys, |entry| entry.0.hash(seed));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.previous = None;
        self.known = 0;
    }
}
