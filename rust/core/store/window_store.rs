//! The window store: the sliding windows of a key by start.

use super::entry::WindowEntry;
use super::window_table::WindowTable;
use crate::core::time::Time;

/// Sliding windows by key. All time bounds are inclusive and apply to the start. All reads use the
/// order of rules 6.9 and see only visible windows. `.rev()` reads backward (KIP-617).
pub(crate) type WindowStore = WindowTable<WindowEntry>;

impl WindowStore {
    /// The windows that start between two times, of a range of keys, inclusive. `None` leaves a
    /// side of the range open.
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
}
