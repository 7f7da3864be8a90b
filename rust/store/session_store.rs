//! The session store: sessions of a key by (end, start).

use super::entry::SessionEntry;
use super::key_table::StoreKey;
use super::window_table::WindowTable;
use crate::time::{Span, Time};
use crate::window::Extent;

/// Sessions by key. All reads are in the order of rules 6.9, see visible sessions only, and have
/// their backward form in `.rev()` (KIP-617).
pub type SessionStore = WindowTable<SessionEntry>;

impl SessionStore {
    /// The sessions of a key with `end >= earliest_end` and `start <= latest_start`.
    pub fn find_sessions(
        &self,
        name: &[u8],
        earliest_end: Time,
        latest_start: Time,
    ) -> impl DoubleEndedIterator<Item = &SessionEntry> {
        self.key(name)
            .into_iter()
            .flat_map(move |key| self.overlapping(key, earliest_end, latest_start))
    }

    fn overlapping(
        &self,
        key: StoreKey,
        earliest_end: Time,
        latest_start: Time,
    ) -> impl DoubleEndedIterator<Item = &SessionEntry> {
        self.within(key, (earliest_end, Time::MIN)..=(Time::MAX, Time::MAX))
            .filter(move |session| session.extent.start <= latest_start)
    }

    /// As [`Self::find_sessions`], for the keys from one to another, both inclusive; none leaves a
    /// side open.
    pub fn find_sessions_of(
        &self,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        earliest_end: Time,
        latest_start: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.keys(from, to).iter().flat_map(move |&key| {
            self.overlapping(key, earliest_end, latest_start)
                .map(move |session| (self.name(key), session))
        })
    }

    /// All sessions of a key.
    pub fn fetch(&self, name: &[u8]) -> impl DoubleEndedIterator<Item = &SessionEntry> {
        self.key(name).into_iter().flat_map(|key| self.windows(key))
    }

    /// All sessions of the keys from one to another, both inclusive; none leaves a side open.
    pub fn fetch_range(
        &self,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.keys(from, to).iter().flat_map(move |&key| {
            self.windows(key)
                .map(move |session| (self.name(key), session))
        })
    }

    /// The session with exactly these bounds.
    pub fn fetch_session(&self, name: &[u8], start: Time, end: Time) -> Option<&SessionEntry> {
        self.get(self.key(name)?, (end, start))
    }

    /// The sessions that reach from one time to another, both inclusive, by (end, start, key).
    pub fn find_closed(
        &self,
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.find_due(from, to)
            .into_iter()
            .map(|(key, session)| (self.name(key), session))
    }

    /// All sessions, by key.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.fetch_range(None, None)
    }

    /// The sessions that a record joins, oldest first. No gap is longer than `longest`.
    ///
    /// ```text
    ///        end >= t - longest        start <= t + gap
    ///              ├──── looked at ─────────┤
    ///   ├──x──x──┤····       ├─x─┤····        ├──x──┤····
    ///                         t├····┤
    /// ```
    ///
    /// Visible sessions of a key never overlap up to their reach, so the first one that starts past
    /// the record's reach ends the search.
    pub(crate) fn joining(
        &self,
        key: StoreKey,
        record: Extent,
        longest: Span,
        found: &mut Vec<SessionEntry>,
    ) {
        found.clear();
        let first = (record.start.saturating_sub(longest), Time::MIN);
        for session in self.within(key, first..=(Time::MAX, Time::MAX)) {
            if session.extent.joins(&record) {
                found.push(*session);
            } else if session.extent.is_past(&record) {
                break;
            }
        }
    }
}
