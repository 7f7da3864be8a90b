//! Segments: slices of time that know which keys have windows in them.
//!
//! ```text
//!   due   ──┼─────────┼─────────┼─────────┼─────────┼──>
//!             expired   opened ↑  listed    listed
//!                              closed: everything due before is closed
//! ```
//!
//! A segment is only a list of keys until the close time enters it; then its windows are queued by
//! their due time. A key may be listed where it has no window any more; whoever reads looks again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::key_table::StoreKey;
use crate::time::{Span, Time};

/// The number of a segment: `due` divided by the width, a power of two, toward minus infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub i64);

/// The longest width as a power of two.
const LONGEST: u32 = 62;

/// The keys of one segment, most of them once.
#[derive(Clone, Debug, Default)]
struct SegmentKeys {
    keys: Vec<StoreKey>,
    distinct: usize,
}

impl SegmentKeys {
    /// Lists a key; doubles go whenever the list has doubled.
    fn push(&mut self, key: StoreKey) {
        if self.keys.len() > 2 * self.distinct + 16 {
            self.keys.sort_unstable();
            self.keys.dedup();
            self.distinct = self.keys.len();
        }
        self.keys.push(key);
    }
}

/// All segments of a store. `P` is a window's place on the shelf of its key.
#[derive(Clone, Debug)]
pub(super) struct Segments<P> {
    /// The width as a power of two: every record asks for some numbers of segments.
    shift: u32,
    listed: BTreeMap<SegmentId, SegmentKeys>,
    opened: Option<SegmentId>,
    queue: BinaryHeap<Reverse<(Time, P, StoreKey)>>,
    closed: Time,
    /// Segments whose windows are not as they were when last asked, but for the latest one of them.
    changed: BTreeSet<SegmentId>,
    latest: Option<SegmentId>,
}

impl<P: Copy + Ord> Segments<P> {
    /// No segments yet, of this length at least.
    pub(super) fn new(width: Span) -> Self {
        let shift = width
            .0
            .checked_next_power_of_two()
            .map_or(u64::BITS, u64::trailing_zeros);
        Self {
            shift: shift.min(LONGEST),
            listed: BTreeMap::new(),
            opened: None,
            queue: BinaryHeap::new(),
            closed: Time::MIN,
            changed: BTreeSet::new(),
            latest: None,
        }
    }

    /// Length of a segment.
    pub(super) fn width(&self) -> i64 {
        1 << self.shift
    }

    /// A window of this segment is not as it was.
    #[inline]
    pub(super) fn change(&mut self, id: SegmentId) {
        if self.latest != Some(id) {
            self.latest = Some(id);
            self.changed.insert(id);
        }
    }

    /// The segments that have changed since they were settled, in order.
    pub(super) fn changed(&self) -> &BTreeSet<SegmentId> {
        &self.changed
    }

    /// What has changed is known from here on.
    pub(super) fn mark_clean(&mut self) {
        self.latest = None;
        self.changed.clear();
    }

    /// The segments in which keys are listed, in order.
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
        self.changed.extend(self.listed.keys().copied());
        self.latest = None;
        self.listed.clear();
        self.queue.clear();
        self.opened = None;
    }

    /// The segment of a due time.
    #[inline]
    pub(super) fn id(&self, due: Time) -> SegmentId {
        SegmentId(due.0 >> self.shift)
    }

    /// The due times of a segment, both inclusive.
    pub(super) fn within(&self, id: SegmentId) -> (Time, Time) {
        (self.start(id), Time(self.start(id).0 | (self.width() - 1)))
    }

    /// The earliest due time of a segment.
    pub(super) fn start(&self, id: SegmentId) -> Time {
        Time(id.0 << self.shift)
    }

    /// How far windows are closed: all that are due before this.
    pub(super) fn closed(&self) -> Time {
        self.closed
    }

    /// Starts where a saved store had closed its windows.
    pub(super) fn resume(&mut self, closed: Time) {
        self.closed = closed;
    }

    /// Lists a key. `again` tells that it was the last to be listed in this segment already.
    pub(super) fn list(&mut self, due: Time, place: P, key: StoreKey, again: bool) {
        let id = self.id(due);
        if !again {
            self.listed.entry(id).or_default().push(key);
        }
        if self.opened.is_some_and(|opened| id <= opened) && due >= self.closed {
            self.queue.push(Reverse((due, place, key)));
        }
    }

    /// The keys, some of them twice, of the segments that the close time `to` enters.
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
    pub(super) fn queue(&mut self, due: Time, place: P, key: StoreKey) {
        if due >= self.closed {
            self.queue.push(Reverse((due, place, key)));
        }
    }

    /// Takes the queued windows due before `to`, each once. Some are not there any more.
    pub(super) fn close(&mut self, to: Time) -> Vec<(Time, P, StoreKey)> {
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

    /// The keys listed from one due time to another, both inclusive.
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

    /// Drops the first segment if everything in it is due before `before` and closed.
    pub(super) fn expire(&mut self, before: Time) -> Option<Vec<StoreKey>> {
        let bound = self.bound(before);
        let first = self
            .listed
            .first_entry()
            .filter(|first| *first.key() < bound)?;
        self.changed.insert(*first.key());
        Some(first.remove().keys)
    }

    /// The first segment that is not dropped by `expire(before)`.
    pub(super) fn bound(&self, before: Time) -> SegmentId {
        self.id(before.min(self.closed))
    }
}
