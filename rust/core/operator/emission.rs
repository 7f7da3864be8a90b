//! Emits the last values of closed windows, changes of open ones, and late records.

use super::change::{Emit, Op, Sink, WindowChange};
use super::pace::{Leaving, Pace, release};
use super::record::KeyedRecord;
use super::session_end::SessionEnd;
use super::window_operator::{WindowKind, WindowOperator};
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::store::{StoreEntry, StoreKey, WindowTable};
use crate::core::time::Span;
use crate::core::window::Window;

impl<K: WindowKind> WindowOperator<K> {
    /// Lets the changes of a window wait until stream time has moved by `every` since the last one.
    pub fn paced(mut self, every: Option<Span>) -> Self {
        self.pace = every.map(Pace::new);
        self
    }

    /// The pace of updates, if they have one.
    pub fn pace(&self) -> Option<&Pace> {
        self.pace.as_ref()
    }

    /// The kind of windows, the stored ones and the pace of updates, for restoring them.
    pub fn parts_mut(&mut self) -> (&K, &mut WindowTable<K::Entry>, Option<&mut Pace>) {
        (&self.kind, &mut self.store, self.pace.as_mut())
    }

    /// Counts closed windows and emits their last values. In update mode only values that wait are
    /// emitted.
    pub(crate) fn emit_finals<S: States>(
        &mut self,
        closed: &[(StoreKey, K::Entry)],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.windows_closed += closed.len() as u64;
        if self.kind.emit() != Emit::Close {
            let now = self.time().slowest().time;
            let slots = closed.iter().map(|(_, entry)| entry.slot());
            let leaving = self.pace.as_mut().map(|pace| pace.closing(slots, now));
            return self.emit_leaving(leaving.unwrap_or_default(), states, out);
        }
        for (key, entry) in closed {
            let last = WindowChange {
                window: self.kind.window(entry),
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

    /// Emits the windows that may leave at the pace of the query. Call it at the end of a
    /// micro-batch, after closing.
    pub fn emit_due<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let now = self.time().slowest().time;
        let Some(pace) = &mut self.pace else {
            return Ok(());
        };
        let mut leaving = pace.leaving(now);
        // In an order that does not depend on slots.
        leaving.sort_by(|one, other| {
            let id = |leaving: &Leaving| K::id(leaving.upsert.window);
            let names = || self.store.name(one.key).cmp(self.store.name(other.key));
            id(one).cmp(&id(other)).then_with(names)
        });
        self.emit_leaving(leaving, states, out)
    }

    /// Emits windows, all deletes before all upserts.
    fn emit_leaving<S: States>(
        &mut self,
        leaving: Vec<Leaving>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        for Leaving { key, deletes, .. } in &leaving {
            for &window in deletes.as_slice() {
                let delete = WindowChange::delete(window, window.end, true);
                self.emit(*key, delete, states, out)?;
            }
        }
        for Leaving { key, upsert, .. } in leaving {
            self.store.entry(key, K::id(upsert.window)); // its pages change
            self.emit(key, upsert, states, out)?;
        }
        Ok(())
    }

    /// Releases the slot of a window that is gone without a replacement, and emits its deletion.
    pub(crate) fn release_deleted<S: States>(
        &mut self,
        key: StoreKey,
        slot: Slot,
        delete: WindowChange,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let Some(pace) = &mut self.pace else {
            states.release(slot);
            return self.emit_update(key, delete, states, out);
        };
        let shown = pace.remove(slot);
        states.release(slot);
        shown.as_slice().iter().try_for_each(|&window| {
            let delete = WindowChange::delete(window, window.end, true);
            self.emit(key, delete, states, out)
        })
    }

    /// Emits the new value or the deletion of a window, or lets it wait.
    pub(crate) fn emit_update<S: States>(
        &mut self,
        key: StoreKey,
        change: WindowChange,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        match (self.kind.emit(), &mut self.pace) {
            (Emit::Update, None) => self.emit(key, change, states, out),
            (Emit::Update, Some(pace)) => {
                pace.change(key, change);
                Ok(())
            }
            (Emit::Close, _) => Ok(()),
        }
    }

    /// Emits a late record as a separate window, which is not stored.
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
            time: record.extent.end,
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

    /// Releases the slot of a window that is no longer stored.
    pub(crate) fn release<S: States>(&mut self, slot: Slot, states: &mut S) {
        release(slot, self.pace.as_mut(), states);
    }

    /// Notes that the windows in some slots became one window, whose states are in `into`.
    pub(crate) fn merge_pace(&mut self, slots: impl IntoIterator<Item = Slot>, into: Slot) {
        if let Some(pace) = &mut self.pace {
            pace.merge(slots, into);
        }
    }
}
