//! The store: the windows of each key on a shelf, in the order of their places.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::entry::Entry;
use super::key_table::{KeyTable, StoreKey};
use super::key_windows::KeyWindows;
use super::segments::{SegmentId, Segments};
use crate::error::Result;
use crate::time::{Span, Time};
use crate::window::Horizon;

/// Windows by key and place, in segments by due time.
#[derive(Clone, Debug)]
pub struct WindowTable<E: Entry> {
    pub(super) keys: KeyTable,
    pub(super) key_windows: Vec<KeyWindows<E>>,
    pub(super) segments: Segments<E::Place>,
    /// The longest time by which a window was ever due after the time of its order.
    pub(super) lead: Span,
    pub(super) horizon: Horizon,
    pub(super) idle: Vec<StoreKey>,
    pub(super) len: usize,
    pub(super) open: usize,
}

impl<E: Entry> WindowTable<E> {
    /// An empty store; `width` is the length of a segment.
    pub fn new(width: Span) -> Self {
        Self {
            keys: KeyTable::default(),
            key_windows: Vec::new(),
            segments: Segments::new(width),
            lead: Span(0),
            horizon: Horizon::OPEN,
            idle: Vec::new(),
            len: 0,
            open: 0,
        }
    }

    /// Number of stored windows, hidden ones too.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of stored windows that are not closed.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How far windows were closed by [`Self::close`].
    pub fn closed(&self) -> Time {
        self.segments.closed()
    }

    /// Starts where a saved store had closed its windows; before anything is put.
    pub fn resume(&mut self, closed: Time) {
        self.segments.resume(closed);
    }

    /// What reads see.
    pub fn horizon(&self) -> Horizon {
        self.horizon
    }

    /// Sets what reads see from now on.
    pub fn advance(&mut self, horizon: Horizon) {
        self.horizon = horizon;
    }

    /// The number of a known key.
    pub fn key(&self, name: &[u8]) -> Option<StoreKey> {
        self.keys.find(name)
    }

    /// The bytes of a key.
    pub fn name(&self, key: StoreKey) -> &[u8] {
        self.keys.name(key)
    }

    /// The number of a key. It stands for this key until the next [`Self::expire`], and as long as
    /// the key has windows.
    pub fn intern(&mut self, name: &[u8]) -> Result<StoreKey> {
        let (key, new) = self.keys.intern(name)?;
        if new {
            self.idle.push(key);
            if self.key_windows.len() <= key.0 as usize {
                self.key_windows
                    .resize(key.0 as usize + 1, KeyWindows::EMPTY);
            }
        }
        Ok(key)
    }

    /// Stores a window and gives back the one that stood in its place.
    pub fn put(&mut self, key: StoreKey, entry: E) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let (due, place) = (entry.due(), entry.place());
        let id = self.segments.id(due);
        self.segments.change(id);
        self.lead = self.lead.max(entry.lead());
        let replaced = match windows.find(&place) {
            Ok(found) => windows
                .entries
                .get_mut(found)
                .map(|old| std::mem::replace(old, entry)),
            Err(place) => {
                windows.entries.insert(place, entry);
                None
            }
        };
        self.segments
            .list(due, place, key, windows.listed == Some(id));
        windows.listed = Some(id);
        self.len += 1;
        self.open += usize::from(due >= self.segments.closed());
        if let Some(old) = &replaced {
            self.uncount(old);
        }
        replaced
    }

    /// Stores a window in the stead of the one in `place`. Gives back a third one that stood in its
    /// new place.
    pub fn replace(&mut self, key: StoreKey, place: E::Place, entry: E) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let (due, new) = (entry.due(), entry.place());
        let stays = windows.find(&place).ok().filter(|&found| {
            let before = found
                .checked_sub(1)
                .and_then(|before| windows.entries.get(before));
            let after = windows.entries.get(found + 1);
            before.is_none_or(|before| before.place() < new)
                && after.is_none_or(|after| after.place() > new)
        });
        let Some(old) = stays.and_then(|found| windows.entries.get_mut(found)) else {
            self.remove(key, place);
            return self.put(key, entry);
        };
        self.lead = self.lead.max(entry.lead());
        let old = std::mem::replace(old, entry);
        let id = self.segments.id(due);
        self.segments.change(id);
        self.segments
            .list(due, new, key, windows.listed == Some(id));
        windows.listed = Some(id);
        self.len += 1;
        self.open += usize::from(due >= self.segments.closed());
        self.uncount(&old);
        None
    }

    /// Takes a window out.
    pub fn remove(&mut self, key: StoreKey, place: E::Place) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let entry = windows
            .find(&place)
            .ok()
            .and_then(|found| windows.entries.remove(found))?;
        if windows.entries.is_empty() {
            self.idle.push(key);
        }
        self.uncount(&entry);
        Some(entry)
    }

    fn uncount(&mut self, entry: &E) {
        self.segments.change(self.segments.id(entry.due()));
        self.len -= 1;
        self.open -= usize::from(entry.due() >= self.segments.closed());
    }

    /// A window, hidden or not, to be changed in what is neither place nor due time.
    pub(crate) fn entry(&mut self, key: StoreKey, place: E::Place) -> Option<&mut E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let found = windows.find(&place).ok()?;
        let entry = windows.entries.get_mut(found)?;
        self.segments.change(self.segments.id(entry.due()));
        Some(entry)
    }

    /// Length of a segment.
    pub fn segment_width(&self) -> i64 {
        self.segments.width()
    }

    /// The segments that have changed since [`Self::mark_clean`], in order: those in which a window was
    /// put, changed or removed, and those that were dropped.
    pub fn changed(&self) -> &BTreeSet<SegmentId> {
        self.segments.changed()
    }

    /// Marks all segments clean.
    pub fn mark_clean(&mut self) {
        self.segments.mark_clean();
    }

    /// The segments that have windows, in order; some of them perhaps none any more.
    pub fn segments(&self) -> impl Iterator<Item = SegmentId> {
        self.segments.ids()
    }

    /// The visible windows of a segment, by key, then place: what a page holds.
    pub fn segment(&self, id: SegmentId) -> Vec<(StoreKey, &E)> {
        let mut keys = self.segments.keys(id);
        keys.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let within = self.segments.within(id);
        keys.into_iter()
            .flat_map(|key| self.due(key, within).map(move |entry| (key, entry)))
            .collect()
    }

    /// The visible window in a place.
    pub fn get(&self, key: StoreKey, place: E::Place) -> Option<&E> {
        let windows = self.key_windows.get(key.0 as usize)?;
        let entry = windows
            .find(&place)
            .ok()
            .and_then(|found| windows.entries.get(found))?;
        entry.is_visible(self.horizon).then_some(entry)
    }

    /// The visible windows of a key with places in a range. Backward: `.rev()`, as for all reads.
    pub fn within(
        &self,
        key: StoreKey,
        places: RangeInclusive<E::Place>,
    ) -> impl DoubleEndedIterator<Item = &E> {
        let horizon = self.horizon;
        let windows = self
            .key_windows
            .get(key.0 as usize)
            .filter(|_| places.start() <= places.end());
        windows
            .into_iter()
            .flat_map(move |windows| windows.within(places.clone()))
            .filter(move |entry| entry.is_visible(horizon))
    }

    /// The visible windows of a key.
    pub fn windows(&self, key: StoreKey) -> impl DoubleEndedIterator<Item = &E> {
        let horizon = self.horizon;
        let windows = self.key_windows.get(key.0 as usize);
        windows
            .into_iter()
            .flat_map(|windows| &windows.entries)
            .filter(move |entry| entry.is_visible(horizon))
    }

    /// The visible windows of a key due from one time to another, both inclusive.
    fn due(&self, key: StoreKey, times: (Time, Time)) -> impl Iterator<Item = &E> {
        let horizon = self.horizon;
        let windows = self.key_windows.get(key.0 as usize);
        windows
            .into_iter()
            .flat_map(move |windows| windows.due(times, self.lead))
            .filter(move |entry| entry.is_visible(horizon))
    }

    /// The keys of a range, in the order of their bytes; see [`KeyTable::range`].
    pub fn keys(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> &[StoreKey] {
        self.keys.range(from, to)
    }

    /// The visible windows due from one time to another, both inclusive, by place, then key: what
    /// closes in that time if nothing more happens. Reads the segments that lie between.
    pub fn find_due(&self, from: Time, to: Time) -> Vec<(StoreKey, &E)> {
        let keys = self.segments.between(from, to);
        let mut found: Vec<(StoreKey, &E)> = keys
            .into_iter()
            .flat_map(|key| self.due(key, (from, to)).map(move |entry| (key, entry)))
            .collect();
        found.sort_by(|(a, first), (b, second)| {
            first
                .place()
                .cmp(&second.place())
                .then_with(|| self.name(*a).cmp(self.name(*b)))
        });
        found
    }
}
