//! The windows of one key, sorted by id.

use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::ops::RangeInclusive;

use super::entry::StoreEntry;
use super::segments::SegmentId;
use crate::core::time::{Span, Time};

/// The windows of one key.
#[derive(Clone, Debug)]
pub(super) struct KeyWindows<E> {
    /// Sorted by id.
    pub entries: VecDeque<E>,
    /// The segment that listed the key last.
    pub listed: Option<SegmentId>,
}

impl<E: StoreEntry> KeyWindows<E> {
    pub(super) const EMPTY: Self = Self {
        entries: VecDeque::new(),
        listed: None,
    };

    /// The position of the window with an id, or the place to insert it.
    pub(super) fn find(&self, id: &E::Id) -> std::result::Result<usize, usize> {
        // Most records belong to the last window of their key.
        match self.entries.back() {
            Some(last) if last.id() < *id => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|entry| entry.id().cmp(id)),
        }
    }

    /// The windows with ids in a range.
    pub(super) fn within(&self, ids: RangeInclusive<E::Id>) -> Iter<'_, E> {
        let first = self
            .entries
            .partition_point(|entry| entry.id() < *ids.start());
        let last = self
            .entries
            .partition_point(|entry| entry.id() <= *ids.end());
        self.entries.range(first..last.max(first))
    }

    /// The windows due from one time to another, inclusive. No window is due more than `lead` after
    /// its sort time.
    pub(super) fn due(
        &self,
        (from, to): (Time, Time),
        lead: Span,
    ) -> impl DoubleEndedIterator<Item = &E> {
        let earliest = from.saturating_sub(lead);
        let first = self
            .entries
            .partition_point(|entry| entry.sort_time() < earliest);
        let last = self
            .entries
            .partition_point(|entry| entry.sort_time() <= to);
        self.entries
            .range(first..last.max(first))
            .filter(move |entry| (from..=to).contains(&entry.due()))
    }

    /// Removes the windows due before `bound`. Reads only windows that sort before it.
    pub(super) fn drop_due(&mut self, bound: Time, mut dropped: impl FnMut(E)) {
        let last = self
            .entries
            .partition_point(|entry| entry.sort_time() < bound);
        let mut rest = Vec::new();
        for entry in self.entries.drain(..last) {
            if entry.due() < bound {
                dropped(entry)
            } else {
                rest.push(entry)
            }
        }
        rest.into_iter()
            .rev()
            .for_each(|entry| self.entries.push_front(entry));
    }

    /// The windows that sort before `time`.
    pub(super) fn before(&self, time: Time) -> Iter<'_, E> {
        self.entries.range(
            ..self
                .entries
                .partition_point(|entry| entry.sort_time() < time),
        )
    }
}
