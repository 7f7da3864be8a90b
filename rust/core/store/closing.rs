//! Closes windows that are due, and drops them once no record or query can see them.

use std::borrow::Borrow;

use super::entry::StoreEntry;
use super::key_table::{KeyTable, StoreKey};
use super::key_windows::KeyWindows;
use super::window_table::WindowTable;
use crate::core::time::Time;

impl<E: StoreEntry> WindowTable<E> {
    /// Closes the windows that are due before `to`. Returns each of them once, by id, then key.
    pub fn close(&mut self, to: Time) -> Vec<(StoreKey, E)> {
        if to <= self.segments.closed() {
            return Vec::new();
        }
        for (segment, key) in self.segments.open(to) {
            let Some(windows) = self.key_windows.get(key.0 as usize) else {
                continue;
            };
            for entry in windows.due(self.segments.within(segment), self.lead) {
                self.segments.queue(entry.due(), entry.id(), key);
            }
        }
        let due = self.segments.close(to);
        let mut closed: Vec<(StoreKey, E)> = due
            .into_iter()
            .filter_map(|(due, id, key)| {
                Some((key, due_entry(&self.key_windows, key, id, due)?.clone()))
            })
            .collect();
        self.open -= closed.len();
        self.sort(&mut closed);
        closed
    }

    /// Compacts the queue of windows that wait for their close time, once it has doubled.
    pub(super) fn compact_queue(&mut self) {
        let Self {
            segments,
            key_windows,
            ..
        } = self;
        if segments.is_queue_long() {
            segments.compact_queue(|due, id, key| due_entry(key_windows, key, id, due).is_some());
        }
    }

    /// Sorts windows by id, then key.
    pub(super) fn sort<B: Borrow<E>>(&self, entries: &mut [(StoreKey, B)]) {
        entries.sort_unstable_by(|(a, first), (b, second)| {
            let (first, second) = (first.borrow().id(), second.borrow().id());
            first
                .cmp(&second)
                .then_with(|| self.name(*a).cmp(self.name(*b)))
        });
    }

    /// The windows that are not closed, by id, then key. They become final at the end of the input.
    pub fn pending(&self) -> Vec<(StoreKey, E)> {
        let closed = self.segments.closed();
        let mut pending: Vec<(StoreKey, E)> = self
            .keys(None, None)
            .iter()
            .filter_map(|&key| Some((key, self.key_windows.get(key.0 as usize)?)))
            .flat_map(|(key, windows)| {
                windows
                    .entries
                    .iter()
                    .map(move |entry| (key, entry.clone()))
            })
            .filter(|(_, entry)| entry.due() >= closed)
            .collect();
        self.sort(&mut pending);
        pending
    }

    /// Drops everything, at the end of the input.
    pub fn clear(&mut self, mut dropped: impl FnMut(E)) {
        let closed = self.segments.closed();
        for windows in self.key_windows.drain(..) {
            windows.entries.into_iter().for_each(&mut dropped);
        }
        self.keys = KeyTable::default();
        self.segments.clear();
        self.segments.resume(closed);
        self.idle.clear();
        self.open = 0;
    }

    /// Drops the windows in `closed`, as returned by [`Self::close`], that are hidden at once, like
    /// sessions without `until`. With long gaps, their segment may last far longer.
    pub fn drop_closed(&mut self, closed: &[(StoreKey, E)], mut dropped: impl FnMut(E)) {
        for (key, entry) in closed {
            if !entry.is_visible(self.horizon) {
                self.remove(*key, entry.id())
                    .into_iter()
                    .for_each(&mut dropped);
            }
        }
    }

    /// Drops segments that are closed and hidden as a whole, and keys without windows.
    pub fn expire(&mut self, mut dropped: impl FnMut(E)) {
        let before = self.horizon.expired();
        let bound = self.segments.start(self.segments.bound(before));
        while let Some(keys) = self.segments.expire(before) {
            for key in keys {
                let Some(windows) = self.key_windows.get_mut(key.0 as usize) else {
                    continue;
                };
                windows.drop_due(bound, &mut dropped);
                windows.listed = None;
                if windows.entries.is_empty() {
                    self.idle.push(key);
                }
            }
        }
        self.release_idle();
    }

    /// Drops every window that is closed and hidden, even in segments with other windows. The store
    /// then has only visible windows, and so do saved pages (rules 1.7). If the query keeps no
    /// closed windows, they leave as they close and this does nothing. A restart must not change
    /// how long closed windows are kept, so a saved state then has none.
    pub fn drop_hidden(&mut self, mut dropped: impl FnMut(E)) {
        let (closed, kept) = (self.segments.closed(), self.horizon.kept);
        if kept == Time::MAX {
            return;
        }
        let last = kept.saturating_add(self.lead).min(closed);
        let mut hidden = Vec::new();
        for key in self.segments.between(Time::MIN, last) {
            let windows = self.key_windows.get(key.0 as usize);
            for entry in windows.into_iter().flat_map(|windows| windows.before(kept)) {
                if entry.due() < closed && !entry.is_visible(self.horizon) {
                    hidden.push((key, entry.id()));
                }
            }
        }
        for (key, id) in hidden {
            self.remove(key, id).into_iter().for_each(&mut dropped);
        }
        self.release_idle();
    }

    /// Releases the keys without windows.
    fn release_idle(&mut self) {
        for key in self.idle.drain(..) {
            let empty = self
                .key_windows
                .get_mut(key.0 as usize)
                .filter(|windows| windows.entries.is_empty());
            if let Some(windows) = empty.filter(|_| self.keys.is_known(key)) {
                *windows = KeyWindows::EMPTY;
                self.keys.release(key);
            }
        }
    }
}

/// The window with an id, if its due time is still `due`.
fn due_entry<E: StoreEntry>(
    key_windows: &[KeyWindows<E>],
    key: StoreKey,
    id: E::Id,
    due: Time,
) -> Option<&E> {
    let windows = key_windows.get(key.0 as usize)?;
    let entry = windows
        .find(&id)
        .ok()
        .and_then(|found| windows.entries.get(found))?;
    (entry.due() == due).then_some(entry)
}
