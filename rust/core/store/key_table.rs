//! Maps a key's bytes to a small number and back, and sorts keys by their bytes.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::core::error::{Error, Result};
use crate::core::sort::sort_by_name;

/// The number of a key in its store. The store may reuse the number once the key has no windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(pub u32);

/// All keys of a store.
#[derive(Clone, Debug)]
pub(crate) struct KeyTable {
    table: HashTable<StoreKey>,
    /// The seed of the hash. Without a random seed, an attacker could choose keys that all collide.
    seed: u64,
    names: Vec<Option<Box<[u8]>>>,
    free: Vec<StoreKey>,
    /// All keys in the order of their bytes. Sorted when a range is first read.
    order: OnceLock<Vec<StoreKey>>,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            seed: RandomState::new().hash_one(0),
            names: Vec::new(),
            free: Vec::new(),
            order: OnceLock::new(),
        }
    }
}

impl KeyTable {
    /// The bytes of a key, for comparing and listing. Empty if there is no such key.
    pub(crate) fn name(&self, key: StoreKey) -> &[u8] {
        self.find_name(key).unwrap_or_default()
    }

    /// The bytes of a key. `None` if there is no such key.
    pub(crate) fn find_name(&self, key: StoreKey) -> Option<&[u8]> {
        self.names.get(key.0 as usize).and_then(Option::as_deref)
    }

    /// The number of a known or new key, and whether it is new.
    pub(crate) fn intern(&mut self, name: &[u8]) -> Result<(StoreKey, bool)> {
        let Self {
            table,
            seed,
            names,
            free,
            order,
        } = self;
        let seed = *seed;
        let known =
            |key: &StoreKey| names.get(key.0 as usize).and_then(Option::as_deref) == Some(name);
        let hash = |key: &StoreKey| hash_of(names, seed, *key);
        match table.entry(xxh3_64_with_seed(name, seed), known, hash) {
            Entry::Occupied(entry) => Ok((*entry.get(), false)),
            Entry::Vacant(entry) => {
                let key = match free.pop() {
                    Some(key) => key,
                    None => StoreKey(
                        u32::try_from(names.len())
                            .map_err(|_| Error::Internal("a store holds at most 2^32 keys"))?,
                    ),
                };
                entry.insert(key);
                let name = Some(name.into());
                match names.get_mut(key.0 as usize) {
                    Some(free) => *free = name,
                    None => names.push(name),
                }
                order.take();
                Ok((key, true))
            }
        }
    }

    /// Makes room for more keys.
    pub(crate) fn reserve(&mut self, additional: usize) {
        let Self {
            table, seed, names, ..
        } = self;
        table.reserve(additional, |&key| hash_of(names, *seed, key));
        names.reserve(additional);
    }

    /// Forgets a key. Its number is free for another key.
    pub(crate) fn release(&mut self, key: StoreKey) {
        let Some(name) = self.names.get_mut(key.0 as usize).and_then(Option::take) else {
            return;
        };
        if let Ok(entry) = self
            .table
            .find_entry(xxh3_64_with_seed(&name, self.seed), |&other| other == key)
        {
            entry.remove();
        }
        self.free.push(key);
        self.order.take();
    }

    /// Sorts keys by their bytes.
    pub(crate) fn sort(&self, keys: &mut [StoreKey]) {
        sort_by_name(keys, |key| self.name(key));
    }

    /// Whether the number belongs to a key.
    pub(crate) fn is_known(&self, key: StoreKey) -> bool {
        self.names.get(key.0 as usize).is_some_and(Option::is_some)
    }

    /// The keys from `from` to `to`, inclusive, in the order of their bytes. `None` leaves a side
    /// open.
    pub(crate) fn range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> &[StoreKey] {
        if let (Some(name), true) = (from, from == to) {
            let found = self.table.find(xxh3_64_with_seed(name, self.seed), |&key| {
                self.name(key) == name
            });
            return found.map(std::slice::from_ref).unwrap_or_default();
        }
        let order = self.order.get_or_init(|| {
            let mut order: Vec<StoreKey> = self.table.iter().copied().collect();
            self.sort(&mut order);
            order
        });
        let first = from.map_or(0, |from| {
            order.partition_point(|&key| self.name(key) < from)
        });
        let last = to.map_or(order.len(), |to| {
            order.partition_point(|&key| self.name(key) <= to)
        });
        order.get(first..last).unwrap_or_default()
    }
}

/// The hash of a known key's bytes.
fn hash_of(names: &[Option<Box<[u8]>>], seed: u64, key: StoreKey) -> u64 {
    let name = names.get(key.0 as usize).and_then(Option::as_deref);
    xxh3_64_with_seed(name.unwrap_or_default(), seed)
}
