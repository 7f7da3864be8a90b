//! The window store: sliding windows of a key by start.

use super::entry::WindowEntry;
use super::window_table::WindowTable;
use crate::core::time::Time;

/// Sliding windows by key. All time bounds are on the start, both inclusive; all reads are in the
/// order of rules 6.9, see visible windows only, and have their backward form in `.rev()`
/// (KIP-617).
pub type WindowStore = WindowTable<WindowEntry>;

impl WindowStore {
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
}
