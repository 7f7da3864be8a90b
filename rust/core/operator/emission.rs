//! Emits the last values of closed windows, changes of open ones, and late records.

use super::change::{Change, Emit, Op, Sink, WindowUpdate};
use super::record::KeyedRecord;
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
            let last = WindowUpdate {
                key: *key,
                window: self.windows.window(entry),
                time: entry.largest(),
                slot: Some(entry.slot()),
                known: true,
            };
            self.emit(Op::Final, last, states, out)?;
        }
        Ok(())
    }

    /// Emits the new value or the deletion of a window.
    pub(crate) fn emit_update<S: States>(
        &mut self,
        update: WindowUpdate,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        if self.windows.emit() != Emit::Update {
            return Ok(());
        }
        let op = if update.slot.is_some() {
            Op::Upsert
        } else {
            Op::Delete
        };
        self.emit(op, update, states, out)
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
        let alone = WindowUpdate {
            key: record.key,
            window,
            time: record.time,
            slot: Some(slot),
            known: false,
        };
        self.emit(Op::Late, alone, states, out)?;
        states.release(slot);
        Ok(())
    }

    fn emit<S: States>(
        &self,
        op: Op,
        update: WindowUpdate,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let WindowUpdate {
            key,
            window,
            time,
            slot,
            known,
        } = update;
        let name = self.store.name_of_window(key)?;
        out.emit(
            Change {
                key,
                name,
                window,
                time,
                op,
                slot,
                known,
            },
            states,
        )
    }
}
