//! Tests of this room.

mod store;
mod store_queries;

use super::{StoreEntry, StoreKey, WindowTable};

impl<E: StoreEntry> WindowTable<E> {
    /// Number of stored windows, including hidden ones.
    pub(crate) fn len(&self) -> usize {
        self.key_windows.iter().map(|key| key.entries.len()).sum()
    }

    /// The number of a known key.
    pub(crate) fn key(&self, name: &[u8]) -> Option<StoreKey> {
        self.keys(Some(name), Some(name)).first().copied()
    }
}
