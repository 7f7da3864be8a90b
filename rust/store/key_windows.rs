//! The windows of one key, in the order of their places.

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::ops::RangeInclusive;

use super::entry::Entry;
use super::segments::SegmentId;
use crate::time::{Span, Time};

/// The windows of one key.
#[derive(Clone, Debug)]
pub(super) struct KeyWindows<E> {
    /// In the order of their places.
    pub entries: VecDeque<E>,
    /// The segment in which the key was listed last.
    pub listed: Option<SegmentId>,
}

impl<E: Entry> KeyWindows<E> {
    pub const EMPTY: Self = Self {
        entries: VecDeque::new(),
        listed: None,
    };

    /// Where the window of a place stands, or would stand.
    pub fn find(&self, place: &E::Place) -> std::result::Result<usize, usize> {
        // Most records belong to the last window of their key.
        match self.entries.back() {
            Some(last) if last.place() < *place => Err(self.entries.len()),
            _ => self
                .entries
                .binary_search_by(|entry| entry.place().cmp(place)),
        }
    }

    /// The windows with places in a range.
    pub fn within(&self, places: RangeInclusive<E::Place>) -> Iter<'_, E> {
        let first = self
            .entries
            .partition_point(|entry| entry.place() < *places.start());
        let last = self
            .entries
            .partition_point(|entry| entry.place() <= *places.end());
        self.entries.range(first..last.max(first))
    }

    /// The windows due from one time to another, both inclusive; no window is due more than `lead`
    /// after the time of its order.
    pub fn due(&self, (from, to): (Time, Time), lead: Span) -> impl DoubleEndedIterator<Item = &E> {
        let earliest = from.saturating_sub(lead);
        let first = self
            .entries
            .partition_point(|entry| entry.order() < earliest);
        let last = self.entries.partition_point(|entry| entry.order() <= to);
        self.entries
            .range(first..last.max(first))
            .filter(move |entry| (from..=to).contains(&entry.due()))
    }

    /// Takes the windows out that are due before `bound`. Looks at those only that are ordered
    /// before it.
    pub fn drop_due(&mut self, bound: Time, mut dropped: impl FnMut(E)) {
        let last = self.entries.partition_point(|entry| entry.order() < bound);
        let mut kept = Vec::new();
        for entry in self.entries.drain(..last) {
            if entry.due() < bound {
                dropped(entry)
            } else {
                kept.push(entry)
            }
        }
        kept.into_iter()
            .rev()
            .for_each(|entry| self.entries.push_front(entry));
    }
}
