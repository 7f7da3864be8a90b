//! The window store: sliding windows of a key by start.

use super::entry::WindowEntry;
use super::window_table::WindowTable;
use crate::time::Time;

/// Sliding windows by key. All time bounds are on the start, both inclusive; all reads are in the
/// order of rules 6.9, see visible windows only, and have their backward form in `.rev()`
/// (KIP-617).
pub type WindowStore = WindowTable<WindowEntry>;

impl WindowStore {
    /// The window of a key with this start.
    pub fn fetch(&self, name: &[u8], start: Time) -> Option<&WindowEntry> {
        self.get(self.key(name)?, start)
    }

    /// The windows of a key that start from one time to another.
    pub fn fetch_between(
        &self,
        name: &[u8],
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = &WindowEntry> {
        self.key(name)
            .into_iter()
            .flat_map(move |key| self.within(key, from..=to))
    }

    /// The windows of the keys from one to another, both inclusive, that start from one time to
    /// another; none leaves a side of the keys open.
    pub fn fetch_range(
        &self,
        keys: (Option<&[u8]>, Option<&[u8]>),
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &WindowEntry)> {
        self.keys(keys.0, keys.1).iter().flat_map(move |&key| {
            self.within(key, from..=to)
                .map(move |window| (self.name(key), window))
        })
    }

    /// The windows of all keys that start from one time to another, by key.
    pub fn fetch_all(
        &self,
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &WindowEntry)> {
        self.fetch_range((None, None), from, to)
    }

    /// The windows that start from one time to another, by (start, key).
    pub fn find_closed(
        &self,
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &WindowEntry)> {
        self.find_due(from, to)
            .into_iter()
            .map(|(key, window)| (self.name(key), window))
    }

    /// All windows, by key.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (&[u8], &WindowEntry)> {
        self.fetch_all(Time::MIN, Time::MAX)
    }
}
