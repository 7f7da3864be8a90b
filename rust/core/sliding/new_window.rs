//! Stores the windows that a record creates.

use super::new_window_rules::NewWindow;
use super::sliding_operator::SlidingOperator;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Sink, WindowChange};
use crate::core::operator::record::KeyedRecord;
use crate::core::operator::window_operator::WindowKind;
use crate::core::store::{StoreKey, WindowEntry};
use crate::core::time::Time;
use crate::core::window::Window;

impl SlidingOperator {
    /// Creates windows. `copied` has the states and the largest time for a window that copies
    /// another. Returns whether one took the record.
    pub(super) fn create_all<S: States>(
        &mut self,
        new_windows: &[NewWindow],
        mut copied: Option<(Slot, Time)>,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<bool> {
        let (key, mut taken) = (record.key, false);
        for &new in new_windows {
            match new {
                NewWindow::Create { start, base } => {
                    taken |= self.create(record, start, base, states, out)?
                }
                NewWindow::Copy { start, .. } => {
                    if let Some((slot, largest)) = copied.take() {
                        let entry = WindowEntry {
                            start,
                            largest,
                            slot,
                        };
                        self.put_and_emit(key, entry, states, out)?;
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Creates a window with the record, unless the record is late there. Returns whether it did.
    fn create<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        start: Time,
        base: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<bool> {
        let window = Window::sliding(start, self.kind.sliding.difference);
        if self.refuses(window, record.input_close) {
            return Ok(false);
        }
        let (key, time) = (record.key, record.time());
        let base = match base {
            Some(base) => self.copy(key, base, states)?,
            None => None,
        };
        let slot = match base {
            Some((slot, _)) => slot,
            None => states.allocate()?,
        };
        states.update(slot, record.row, window)?;
        if states.is_null(slot) {
            states.release(slot);
            let old = self.store.remove(key, start);
            let delete = WindowChange::delete(window, time, old.is_some());
            match old {
                Some(old) => self.release_deleted(key, old.slot, delete, states, out)?,
                None => self.emit_update(key, delete, states, out)?,
            }
            return Ok(true);
        }
        let entry = WindowEntry {
            start,
            largest: time,
            slot,
        };
        self.put_and_emit(key, entry, states, out)?;
        Ok(true)
    }

    /// Stores a window and emits its value.
    fn put_and_emit<S: States>(
        &mut self,
        key: StoreKey,
        entry: WindowEntry,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let window = self.kind.window(&entry);
        let was_stored = self.put(key, entry, states);
        let upsert = WindowChange::upsert(window, entry.largest, entry.slot, was_stored);
        self.emit_update(key, upsert, states, out)
    }

    /// Copies a stored window's states. Returns the copy and the window's largest time.
    pub(super) fn copy<S: States>(
        &mut self,
        key: StoreKey,
        start: Time,
        states: &mut S,
    ) -> Result<Option<(Slot, Time)>> {
        let Some(&mut WindowEntry { largest, slot, .. }) = self.store.entry(key, start) else {
            return Ok(None);
        };
        let copy = states.allocate()?;
        states.copy(copy, slot)?;
        Ok(Some((copy, largest)))
    }

    /// Stores a window. Returns whether it replaced one.
    pub(super) fn put<S: States>(
        &mut self,
        key: StoreKey,
        entry: WindowEntry,
        states: &mut S,
    ) -> bool {
        let replaced = self.store.put(key, entry);
        if let Some(replaced) = &replaced {
            self.merge_pace([replaced.slot], entry.slot);
            states.release(replaced.slot);
        }
        replaced.is_some()
    }
}
