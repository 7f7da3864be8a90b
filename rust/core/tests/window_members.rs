//! An aggregate that knows which records are in a window, for oracles.

use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::window::Window;

/// One list of record numbers per slot. Slots that are given back are never read again: reading one
/// panics.
#[derive(Debug, Default)]
pub(crate) struct Members {
    slots: Vec<Option<Vec<usize>>>,
}

impl Members {
    /// The records in a slot, sorted.
    pub(crate) fn of(&self, slot: Slot) -> Vec<usize> {
        let mut members = self.slots[slot.0 as usize]
            .clone()
            .expect("the slot is in use");
        members.sort_unstable();
        members
    }

    /// Number of slots in use.
    pub(crate) fn used(&self) -> usize {
        self.slots.iter().flatten().count()
    }
}

impl States for Members {
    type Row = usize;

    fn allocate(&mut self) -> Result<Slot> {
        self.slots.push(Some(Vec::new()));
        Ok(Slot(self.slots.len() as u32 - 1))
    }

    fn release(&mut self, slot: Slot) {
        assert!(
            self.slots[slot.0 as usize].take().is_some(),
            "the slot is in use"
        );
    }

    fn update(&mut self, slot: Slot, row: usize, _window: Window) -> Result<()> {
        self.slots[slot.0 as usize]
            .as_mut()
            .expect("the slot is in use")
            .push(row);
        Ok(())
    }

    fn merge(&mut self, into: Slot, from: Slot, _window: Window) -> Result<()> {
        let from = self.of(from);
        self.slots[into.0 as usize]
            .as_mut()
            .expect("the slot is in use")
            .extend(from);
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.slots[to.0 as usize] = Some(self.of(from));
        Ok(())
    }

    fn adopt(&mut self, from: Slot, _window: Window) -> Result<Slot> {
        Ok(from)
    }
}
