//! How windows leave the store: they close when their time has come, and are dropped, segment by
//! segment, when nobody sees them.

use super::entry::Entry;
use super::key_table::{KeyTable, StoreKey};
use super::key_windows::KeyWindows;
use super::window_table::WindowTable;
use crate::time::Time;

impl<E: Entry> WindowTable<E> {
    /// Closes the windows due before `to` and returns them by place, then key. Each window is
    /// returned once.
    pub fn close(&mut self, to: Time) -> Vec<(StoreKey, E)> {
        if to <= self.segments.closed() {
            return Vec::new();
        }
        for (id, key) in self.segments.open(to) {
            let Some(windows) = self.key_windows.get(key.0 as usize) else {
                continue;
            };
            for entry in windows.due(self.segments.within(id), self.lead) {
                self.segments.queue(entry.due(), entry.place(), key);
            }
        }
        let due = self.segments.close(to);
        let mut closed: Vec<(StoreKey, E)> = due
            .into_iter()
            .filter_map(|(due, place, key)| self.still_due(key, place, due))
            .collect();
        self.open -= closed.len();
        self.sort(&mut closed);
        closed
    }

    /// The window in a place, if it is still due then.
    fn still_due(&self, key: StoreKey, place: E::Place, due: Time) -> Option<(StoreKey, E)> {
        let windows = self.key_windows.get(key.0 as usize)?;
        let entry = windows
            .find(&place)
            .ok()
            .and_then(|found| windows.entries.get(found))?;
        (entry.due() == due).then(|| (key, entry.clone()))
    }

    fn sort(&self, entries: &mut [(StoreKey, E)]) {
        entries.sort_unstable_by(|(a, first), (b, second)| {
            first
                .place()
                .cmp(&second.place())
                .then_with(|| self.name(*a).cmp(self.name(*b)))
        });
    }

    /// The windows that are not closed, by place, then key: what is final when the input has ended.
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
