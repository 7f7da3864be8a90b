//! How windows close when their time has come, and leave the store when no record or query sees
//! them any more.

use super::entry::StoreEntry;
use super::key_table::{KeyTable, StoreKey};
use super::key_windows::KeyWindows;
use super::window_table::WindowTable;
use crate::core::time::Time;

impl<E: StoreEntry> WindowTable<E> {
    /// Closes the windows due before `to` and returns them by id, then key. Each window is
    /// returned once.
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

    fn sort(&self, entries: &mut [(StoreKey, E)]) {
        entries.sort_unstable_by(|(a, first), (b, second)| {
            first
                .id()
                .cmp(&second.id())
                .then_with(|| self.name(*a).cmp(self.name(*b)))
        });
    }

    /// The windows that are not closed, by id, then key: what is final when the input has ended.
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

    /// Drops everything: the input has ended.
    pub fn clear(&mut self, mut dropped: impl FnMut(E)) {
        let closed = self.segments.closed();
        for windows in self.key_windows.drain(..) {
            windows.entries.into_iter().for_each(&mut dropped);
        }
        self.keys = KeyTable::default();
        self.segments.clear();
        self.segments.resume(closed);
        self.idle.clear();
        (self.len, self.open) = (0, 0);
    }

    /// Drops those of the windows that [`Self::close`] has returned that are hidden at once, as
    /// sessions are without `until`: their segment may last far longer, where gaps may be long.
    pub fn drop_closed(&mut self, closed: &[(StoreKey, E)], mut dropped: impl FnMut(E)) {
        for (key, entry) in closed {
            if !entry.is_visible(self.horizon) {
                self.remove(*key, entry.id())
                    .into_iter()
                    .for_each(&mut dropped);
            }
        }
    }

    /// Drops the segments that are closed, and hidden as a whole, and the keys that have no
    /// windows.
    pub fn expire(&mut self, mut dropped: impl FnMut(E)) {
        let before = self.horizon.expired();
        let bound = self.segments.start(self.segments.bound(before));
        while let Some(keys) = self.segments.expire(before) {
            for key in keys {
                let Some(windows) = self.key_windows.get_mut(key.0 as usize) else {
                    continue;
                };
                let stored = windows.entries.len();
                windows.drop_due(bound, &mut dropped);
                windows.listed = None;
                self.len -= stored - windows.entries.len();
                if windows.entries.is_empty() {
                    self.idle.push(key);
                }
            }
        }
        self.release_idle();
    }

    /// Drops every window that is closed and hidden, also in segments with others that are not.
    /// What is stored is then what is visible, so that saved pages hold nothing else (rules 1.7).
    /// Where nothing is kept, windows leave as they close, and no saved state has closed ones: how long they
    /// are kept may not change at a restart.
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

    /// Releases the keys that have no windows.
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

/// The window with an id, if it is still due at a time.
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
