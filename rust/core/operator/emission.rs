//! Emits the last values of closed windows, changes of open ones, and late records.

use super::change::{Emit, Op, Sink, WindowChange};
use super::record::KeyedRecord;
use super::session_end::SessionEnd;
use super::window_operator::{WindowKind, WindowOperator};
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::store::{StoreEntry, StoreKey};
use crate::core::window::Window;

impl<K: WindowKind> WindowOperator<K> {
    /// Counts closed windows and emits their last values.
    pub(crate) fn emit_finals<S: States>(
        &mut self,
        closed: &[(StoreKey, K::Entry)],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.windows_closed += closed.len() as u64;
        if self.windows.emit() != Emit::Close {
            return Ok(());
        }
        for (key, entry) in closed {
            let last = WindowChange {
                window: self.windows.window(entry),
                time: entry.largest(),
                op: Op::Final,
                slot: Some(entry.slot()),
                was_stored: true,
                end: SessionEnd::default(),
            };
            self.emit(*key, last, states, out)?;
        }
        Ok(())
    }

    /// Emits the new value or the deletion of a window.
    pub(crate) fn emit_update<S: States>(
        &mut self,
        key: StoreKey,
        change: WindowChange,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        match self.windows.emit() {
            Emit::Update => self.emit(key, change, states, out),
            Emit::Close => Ok(()),
        }
    }

    /// Emits a late record as a window of its own, which is not stored.
    pub(crate) fn emit_late<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        window: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.late_emitted += 1;
        let slot = states.allocate()?;
        states.update(slot, record.row, window)?;
        let alone = WindowChange {
            window,
            time: record.time,
            op: Op::Late,
            slot: Some(slot),
            was_stored: false,
            end: SessionEnd::default(),
        };
        self.emit(record.key, alone, states, out)?;
        states.release(slot);
        Ok(())
    }

    /// Hands a change to `out`.
    pub(crate) fn emit<S: States>(
        &self,
        key: StoreKey,
        change: WindowChange,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        out.emit(self.store.name_of_window(key)?, change, states)
    }
}
