//! Reads and writes the windows of all keys.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::changed_keys::ChangedKeys;
use super::entry::StoreEntry;
use super::key_table::{KeyTable, StoreKey};
use super::key_windows::KeyWindows;
use super::segments::{SegmentId, Segments};
use crate::core::error::{Error, Result};
use crate::core::time::{Span, Time};
use crate::core::window::Horizon;

/// Windows by key and id, in segments by due time.
#[derive(Clone, Debug)]
pub struct WindowTable<E: StoreEntry> {
    pub(super) keys: KeyTable,
    pub(super) key_windows: Vec<KeyWindows<E>>,
    pub(super) segments: Segments<E::Id>,
    /// The longest lead of any window so far.
    pub(super) lead: Span,
    pub(super) horizon: Horizon,
    /// Keys that may be without windows.
    pub(super) idle: Vec<StoreKey>,
    pub(super) open: usize,
}

impl<E: StoreEntry> WindowTable<E> {
    /// An empty store. `width` is the length of a segment.
    pub fn new(width: Span) -> Self {
        Self {
            keys: KeyTable::default(),
            key_windows: Vec::new(),
            segments: Segments::new(width),
            lead: Span(0),
            horizon: Horizon::OPEN,
            idle: Vec::new(),
            open: 0,
        }
    }

    /// Number of stored windows that are not closed.
    pub fn open(&self) -> usize {
        self.open
    }

    /// The close bound of [`Self::close`]: all windows due before this are closed.
    pub fn closed(&self) -> Time {
        self.segments.closed()
    }

    /// Restores the close bound of a saved store. Call it before storing windows.
    pub fn resume(&mut self, closed: Time) {
        self.segments.resume(closed);
    }

    /// The horizon of reads.
    pub fn horizon(&self) -> Horizon {
        self.horizon
    }

    /// Sets the horizon of reads.
    pub fn advance(&mut self, horizon: Horizon) {
        self.horizon = horizon;
    }

    /// The bytes of a key.
    pub fn name(&self, key: StoreKey) -> &[u8] {
        self.keys.name(key)
    }

    /// The bytes of the key of a window to emit.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if there is no such key.
    pub fn name_of_window(&self, key: StoreKey) -> Result<&[u8]> {
        let name = self.keys.find_name(key);
        name.ok_or(Error::Internal("a window has no key"))
    }

    /// The number of a known or new key. It is valid until the next [`Self::expire`], and as long
    /// as the key has windows.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] for more than 2^32 keys.
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

    /// Makes room for more keys.
    pub fn reserve(&mut self, additional: usize) {
        self.keys.reserve(additional);
        self.key_windows.reserve(additional);
    }

    /// Stores a window. Returns the window with the same id that it replaces.
    pub fn put(&mut self, key: StoreKey, entry: E) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let (due, id, lead) = (entry.due(), entry.id(), entry.lead());
        let replaced = match windows.find(&id) {
            Ok(found) => windows
                .entries
                .get_mut(found)
                .map(|old| std::mem::replace(old, entry)),
            Err(position) => {
                windows.entries.insert(position, entry);
                None
            }
        };
        self.count(key, id, due, lead);
        if let Some(old) = &replaced {
            self.uncount(key, old);
        }
        replaced
    }

    /// Stores a window in place of the one with `id`. Returns a third window that had the new id.
    pub fn replace(&mut self, key: StoreKey, id: E::Id, entry: E) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let (due, new, lead) = (entry.due(), entry.id(), entry.lead());
        let in_order = windows.find(&id).ok().filter(|&found| {
            let before = found
                .checked_sub(1)
                .and_then(|before| windows.entries.get(before));
            let after = windows.entries.get(found + 1);
            before.is_none_or(|before| before.id() < new)
                && after.is_none_or(|after| after.id() > new)
        });
        let Some(old) = in_order.and_then(|found| windows.entries.get_mut(found)) else {
            self.remove(key, id);
            return self.put(key, entry);
        };
        let old = std::mem::replace(old, entry);
        self.count(key, new, due, lead);
        self.uncount(key, &old);
        None
    }

    /// Removes a window.
    pub fn remove(&mut self, key: StoreKey, id: E::Id) -> Option<E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let entry = windows
            .find(&id)
            .ok()
            .and_then(|found| windows.entries.remove(found))?;
        if windows.entries.is_empty() {
            self.idle.push(key);
        }
        self.uncount(key, &entry);
        Some(entry)
    }

    /// Lists and counts a stored window.
    fn count(&mut self, key: StoreKey, id: E::Id, due: Time, lead: Span) {
        let Some(windows) = self.key_windows.get_mut(key.0 as usize) else {
            return;
        };
        let segment = self.segments.id(due);
        self.segments.change(segment, || self.keys.name(key));
        self.segments
            .list(due, id, key, windows.listed == Some(segment));
        windows.listed = Some(segment);
        self.lead = self.lead.max(lead);
        self.open += usize::from(due >= self.segments.closed());
        self.compact_queue();
    }

    fn uncount(&mut self, key: StoreKey, entry: &E) {
        let segment = self.segments.id(entry.due());
        self.segments.change(segment, || self.keys.name(key));
        self.open -= usize::from(entry.due() >= self.segments.closed());
    }

    /// A window, hidden or not. The caller must not change its id or its due time.
    pub(crate) fn entry(&mut self, key: StoreKey, id: E::Id) -> Option<&mut E> {
        let windows = self.key_windows.get_mut(key.0 as usize)?;
        let found = windows.find(&id).ok()?;
        let entry = windows.entries.get_mut(found)?;
        let segment = self.segments.id(entry.due());
        self.segments.change(segment, || self.keys.name(key));
        Some(entry)
    }

    /// Length of a segment.
    pub fn segment_width(&self) -> i64 {
        self.segments.width()
    }

    /// The segments changed since [`Self::mark_clean`], in order, with the changed keys of each. A
    /// segment changes when a window in it is stored, changed or removed, or when the segment is
    /// dropped. `None` before the first call.
    pub fn changed(&self) -> Option<&BTreeMap<SegmentId, ChangedKeys>> {
        self.segments.changed()
    }

    /// Marks all segments clean and notes changes from now on.
    pub fn mark_clean(&mut self) {
        self.segments.mark_clean();
    }

    /// The segments with windows, in order. A few may be empty by now.
    pub fn segments(&self) -> impl Iterator<Item = SegmentId> {
        self.segments.ids()
    }

    /// The visible windows of a segment, by key, then id: the content of its pages.
    pub fn segment(&self, segment: SegmentId) -> Vec<(StoreKey, &E)> {
        self.segment_keys(segment, self.segments.keys(segment))
    }

    /// The same for some keys. `keys` may contain repeats and numbers of keys that no longer exist.
    pub fn segment_keys(&self, segment: SegmentId, mut keys: Vec<StoreKey>) -> Vec<(StoreKey, &E)> {
        keys.retain(|&key| self.keys.is_known(key)); // released keys look empty
        self.keys.sort(&mut keys);
        keys.dedup();
        let within = self.segments.within(segment);
        keys.into_iter()
            .flat_map(|key| self.due(key, within).map(move |entry| (key, entry)))
            .collect()
    }

    /// The visible window with an id.
    pub fn get(&self, key: StoreKey, id: E::Id) -> Option<&E> {
        let windows = self.key_windows.get(key.0 as usize)?;
        let entry = windows
            .find(&id)
            .ok()
            .and_then(|found| windows.entries.get(found))?;
        entry.is_visible(self.horizon).then_some(entry)
    }

    /// The visible windows of a key with ids in a range. Like all reads, `.rev()` reads backward.
    pub fn within(
        &self,
        key: StoreKey,
        ids: RangeInclusive<E::Id>,
    ) -> impl DoubleEndedIterator<Item = &E> {
        let horizon = self.horizon;
        let windows = self.key_windows.get(key.0 as usize);
        windows
            .filter(|_| ids.start() <= ids.end())
            .into_iter()
            .flat_map(move |windows| windows.within(ids.clone()))
            .filter(move |entry| entry.is_visible(horizon))
    }

    /// The visible windows of a key that are due from one time to another, inclusive.
    fn due(&self, key: StoreKey, times: (Time, Time)) -> impl Iterator<Item = &E> {
        let horizon = self.horizon;
        let windows = self.key_windows.get(key.0 as usize);
        windows
            .into_iter()
            .flat_map(move |windows| windows.due(times, self.lead))
            .filter(move |entry| entry.is_visible(horizon))
    }

    /// The keys of a range, in the order of their bytes. See [`KeyTable::range`].
    pub fn keys(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> &[StoreKey] {
        self.keys.range(from, to)
    }

    /// The visible windows due from one time to another, inclusive, by id, then key. These windows
    /// close in that time unless something changes. Reads only the segments in between.
    pub(crate) fn find_due(&self, from: Time, to: Time) -> Vec<(StoreKey, &E)> {
        let keys = self.segments.between(from, to);
        let mut found: Vec<(StoreKey, &E)> = keys
            .into_iter()
            .flat_map(|key| self.due(key, (from, to)).map(move |entry| (key, entry)))
            .collect();
        self.sort(&mut found);
        found
    }

    /// The windows of [`Self::find_due`], with the bytes of their keys.
    pub fn find_closed(
        &self,
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &E)> {
        let due = self.find_due(from, to).into_iter();
        due.map(|(key, entry)| (self.name(key), entry))
    }
}
