//! The windows of one key, in the order of their places.

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::ops::RangeInclusive;

use super::entry::Entry;
use super::segments::Id;

/// The windows of one key.
#[derive(Clone, Debug)]
pub(super) struct Shelf<E> {
    /// In the order of their places.
    pub entries: VecDeque<E>,
    /// The segment in which the key was listed last.
    pub listed: Option<Id>,
}

impl<E: Entry> Shelf<E> {
    pub const EMPTY: Self = Self { entries: VecDeque::new(), listed: None };

    /// Where the window of a place stands, or would stand.
    pub fn find(&self, place: &E::Place) -> std::result::Result<usize, usize> {
        // Most records belong to the last window of their key.
        match self.entries.back() {
            Some(last) if last.place() < *place => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|entry| entry.place().cmp(place)),
        }
    }

    /// The windows with places in a range.
    pub fn within(&self, places: RangeInclusive<E::Place>) -> Iter<'_, E> {
        let first = self.entries.partition_point(|entry| entry.place() < *places.start());
        let last = self.entries.partition_point(|entry| entry.place() <= *places.end());
        self.entries.range(first..last.max(first))
    }
}
