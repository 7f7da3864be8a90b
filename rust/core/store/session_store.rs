//! The session store: the sessions of a key by (end, start).

use super::entry::SessionEntry;
use super::key_table::StoreKey;
use super::window_table::WindowTable;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Sessions by key. All reads use the order of rules 6.9 and see only visible sessions. `.rev()`
/// reads backward (KIP-617).
pub(crate) type SessionStore = WindowTable<SessionEntry>;

impl SessionStore {
    /// The sessions with `end >= earliest_end` and `start <= latest_start` of a range of keys,
    /// inclusive. `None` leaves a side of the range open.
    pub fn find_sessions(
        &self,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        earliest_end: Time,
        latest_start: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.keys(from, to).iter().flat_map(move |&key| {
            self.within(key, (earliest_end, Time::MIN)..=(Time::MAX, Time::MAX))
                .filter(move |session| session.extent.start <= latest_start)
                .map(move |session| (self.name(key), session))
        })
    }

    /// The sessions with exactly these bounds of a range of keys, inclusive.
    pub fn fetch_sessions(
        &self,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        start: Time,
        end: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &SessionEntry)> {
        self.keys(from, to)
            .iter()
            .filter_map(move |&key| Some((self.name(key), self.get(key, (end, start))?)))
    }

    /// The sessions that a record joins, oldest first.
    ///
    /// ```text
    ///        end >= t - lead           start <= t + gap
    ///              ├────── read ────────────┤
    ///   ├──x──x──┤····       ├─x─┤····        ├──x──┤····
    ///                         t├····┤
    /// ```
    ///
    /// No session reaches further beyond its end than the store's lead. Visible sessions of a key
    /// never overlap up to their reach, so the search ends at the first session that starts past
    /// the record's reach.
    pub(crate) fn joining(&self, key: StoreKey, record: Extent, found: &mut Vec<SessionEntry>) {
        found.clear();
        let first = (record.start.saturating_sub(self.lead), Time::MIN);
        for session in self.within(key, first..=(Time::MAX, Time::MAX)) {
            if session.extent.joins(&record) {
                found.push(*session);
            } else if session.extent.is_past(&record) {
                break;
            }
        }
    }
}
