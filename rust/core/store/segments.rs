//! Segments are slices of time that list the keys with windows due in them.
//!
//! ```text
//!   due   ──┼─────────┼─────────┼─────────┼─────────┼──>
//!             expired   opened ↑  listed    listed
//!                              closed: everything due earlier is closed
//! ```
//!
//! A segment is only a list of keys until the close time enters it. Then its windows are queued by
//! due time. Listed keys and queued windows may no longer exist, so readers check them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::changed_keys::ChangedKeys;
use super::key_table::StoreKey;
use crate::core::time::{Span, Time};

/// The number of a segment: the due time divided by the width, a power of two, rounded toward minus
/// infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub i64);

/// The binary logarithm of the longest width.
const LONGEST: u32 = 62;

/// Up to this length, the queue is not compacted.
const SHORT_QUEUE: usize = 1 << 10;

/// The length of a segment: the least power of two that is at least `width`, up to a limit.
pub(crate) fn segment_width(width: Span) -> i64 {
    1 << shift_of(width)
}

fn shift_of(width: Span) -> u32 {
    let power = width.0.checked_next_power_of_two();
    power.map_or(LONGEST, |power| power.trailing_zeros().min(LONGEST))
}

/// A window in a segment that the close time has entered: due time, id, key.
type Queued<I> = Reverse<(Time, I, StoreKey)>;

/// The keys of one segment, with some repeats.
#[derive(Clone, Debug, Default)]
struct SegmentKeys {
    keys: Vec<StoreKey>,
    distinct: usize,
}

impl SegmentKeys {
    /// Lists a key. Removes repeats whenever the list has doubled.
    fn push(&mut self, key: StoreKey) {
        if self.keys.len() > 2 * self.distinct + 16 {
            self.keys.sort_unstable();
            self.keys.dedup();
            self.distinct = self.keys.len();
        }
        self.keys.push(key);
    }
}

/// All segments of a store. `I` is the id of a window.
#[derive(Clone, Debug)]
pub(super) struct Segments<I> {
    /// The binary logarithm of the width. A shift gives the segment of a time.
    shift: u32,
    listed: BTreeMap<SegmentId, SegmentKeys>,
    opened: Option<SegmentId>,
    queue: BinaryHeap<Queued<I>>,
    /// Above this length, the queue is compacted.
    queue_limit: usize,
    closed: Time,
    /// The changed keys of each segment since [`Self::mark_clean`]. `None` before its first call.
    changed: Option<BTreeMap<SegmentId, ChangedKeys>>,
    /// The last segment whose keys all count as changed. Most changes fall into it.
    latest: Option<SegmentId>,
}

impl<I: Copy + Ord> Segments<I> {
    /// An empty set of segments of at least this length.
    pub(super) fn new(width: Span) -> Self {
        Self {
            shift: shift_of(width),
            listed: BTreeMap::new(),
            opened: None,
            queue: BinaryHeap::new(),
            queue_limit: SHORT_QUEUE,
            closed: Time::MIN,
            changed: None,
            latest: None,
        }
    }

    /// Length of a segment.
    pub(super) fn width(&self) -> i64 {
        1 << self.shift
    }

    /// Notes that windows of a key changed in a segment.
    #[inline]
    pub(super) fn change<'n>(&mut self, id: SegmentId, name: impl FnOnce() -> &'n [u8]) {
        if let Some(changed) = &mut self.changed
            && self.latest != Some(id)
            && changed.entry(id).or_insert(ChangedKeys::NONE).add(name())
        {
            self.latest = Some(id);
        }
    }

    /// Notes that all windows of some segments changed.
    fn change_all(&mut self, ids: impl IntoIterator<Item = SegmentId>) {
        if let Some(changed) = &mut self.changed {
            changed.extend(ids.into_iter().map(|id| (id, ChangedKeys::ALL)));
        }
    }

    /// The segments changed since [`Self::mark_clean`], in order, with the changed keys of each.
    /// `None` before its first call.
    pub(super) fn changed(&self) -> Option<&BTreeMap<SegmentId, ChangedKeys>> {
        self.changed.as_ref()
    }

    /// Marks all segments clean and notes changes from now on.
    pub(super) fn mark_clean(&mut self) {
        self.latest = None;
        self.changed = Some(BTreeMap::new());
    }

    /// The segments that list keys, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = SegmentId> {
        self.listed.keys().copied()
    }

    /// The keys listed in a segment, each once.
    pub(super) fn keys(&self, id: SegmentId) -> Vec<StoreKey> {
        let mut keys = self
            .listed
            .get(&id)
            .map(|listed| listed.keys.clone())
            .unwrap_or_default();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Forgets all windows.
    pub(super) fn clear(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        self.change_all(listed.into_keys());
        self.queue.clear();
        self.opened = None;
    }

    /// The segment of a due time.
    #[inline]
    pub(super) fn id(&self, due: Time) -> SegmentId {
        SegmentId(due.0 >> self.shift)
    }

    /// The range of due times of a segment, inclusive.
    pub(super) fn within(&self, id: SegmentId) -> (Time, Time) {
        (self.start(id), Time(self.start(id).0 | (self.width() - 1)))
    }

    /// The earliest due time of a segment.
    pub(super) fn start(&self, id: SegmentId) -> Time {
        Time(id.0 << self.shift)
    }

    /// The close bound: all windows due before this are closed.
    pub(super) fn closed(&self) -> Time {
        self.closed
    }

    /// Restores the close bound of a saved store.
    pub(super) fn resume(&mut self, closed: Time) {
        self.closed = closed;
    }

    /// Lists a key in the segment of a due time, unless `listed` says that it is already there.
    /// Queues the window if the segment is open.
    pub(super) fn list(&mut self, due: Time, id: I, key: StoreKey, listed: bool) {
        let segment = self.id(due);
        if !listed {
            self.listed.entry(segment).or_default().push(key);
        }
        if self.opened.is_some_and(|opened| segment <= opened) {
            self.queue(due, id, key);
        }
    }

    /// The keys, possibly repeated, of the segments that the close time `to` enters.
    pub(super) fn open(&mut self, to: Time) -> Vec<(SegmentId, StoreKey)> {
        let last = self.id(to);
        if self.opened.is_some_and(|opened| last <= opened) {
            return Vec::new();
        }
        let entered = self
            .listed
            .range(..=last)
            .filter(|&(&id, _)| self.opened.is_none_or(|opened| id > opened));
        let keys = entered
            .flat_map(|(&id, listed)| listed.keys.iter().map(move |&key| (id, key)))
            .collect();
        self.opened = Some(last);
        keys
    }

    /// Queues a window of an opened segment.
    pub(super) fn queue(&mut self, due: Time, id: I, key: StoreKey) {
        if due >= self.closed {
            self.queue.push(Reverse((due, id, key)));
        }
    }

    /// Whether the queue has doubled since it was last compacted.
    #[inline]
    pub(super) fn is_queue_long(&self) -> bool {
        self.queue.len() > self.queue_limit
    }

    /// Removes repeats and windows that are no longer due from the queue. A growing window is
    /// queued again each time, so without this the queue has an entry for each change.
    pub(super) fn compact_queue(&mut self, mut is_due: impl FnMut(Time, I, StoreKey) -> bool) {
        let mut queue = std::mem::take(&mut self.queue).into_vec();
        queue.retain(|&Reverse((due, id, key))| is_due(due, id, key));
        queue.sort_unstable();
        queue.dedup();
        queue.shrink_to(2 * queue.len());
        self.queue_limit = SHORT_QUEUE.max(2 * queue.len());
        self.queue = queue.into();
    }

    /// Removes the queued windows due before `to` and returns each once. Some may no longer exist.
    pub(super) fn close(&mut self, to: Time) -> Vec<(Time, I, StoreKey)> {
        let mut due = Vec::new();
        while self
            .queue
            .peek()
            .is_some_and(|Reverse((time, ..))| *time < to)
        {
            let Some(Reverse(next)) = self.queue.pop() else {
                break;
            };
            if due.last() != Some(&next) {
                due.push(next);
            }
        }
        self.closed = self.closed.max(to);
        due
    }

    /// The keys listed from one due time to another, inclusive.
    pub(super) fn between(&self, from: Time, to: Time) -> Vec<StoreKey> {
        if from > to {
            return Vec::new();
        }
        let mut keys: Vec<StoreKey> = self
            .listed
            .range(self.id(from)..=self.id(to))
            .flat_map(|(_, listed)| listed.keys.iter().copied())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Drops the first segment if everything in it is closed and due before `before`.
    pub(super) fn expire(&mut self, before: Time) -> Option<Vec<StoreKey>> {
        let bound = self.bound(before);
        let first = self
            .listed
            .first_entry()
            .filter(|first| *first.key() < bound)?;
        let (id, listed) = first.remove_entry();
        self.change_all([id]);
        Some(listed.keys)
    }

    /// The first segment that `expire(before)` keeps.
    pub(super) fn bound(&self, before: Time) -> SegmentId {
        self.id(before.min(self.closed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_the_next_power_of_two_up_to_a_limit() {
        for (width, expected) in [(0, 1), (1, 1), (5, 8), (8, 8), (9, 16), (u64::MAX, 1 << 62)] {
            assert_eq!(segment_width(Span(width)), expected, "{width}");
        }
    }
}
