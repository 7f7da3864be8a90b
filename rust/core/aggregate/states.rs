//! States as the record operators see them: one slot per window.
//!
//! They keep Kafka's fold order: a merged session starts from the identity, then takes its sessions from
//! the oldest to the newest, and the new record last.

use super::slot::Slot;
use crate::core::error::Result;
use crate::core::window::Window;

/// States by slot, with the rows they are updated from.
pub trait States {
    /// A row: an index into the batch, or the value itself.
    type Row: Copy;

    /// A slot that holds the identity.
    ///
    /// # Errors
    ///
    /// More windows than there are numbers for slots.
    fn allocate(&mut self) -> Result<Slot>;

    /// Gives a slot back.
    fn release(&mut self, slot: Slot);

    /// Adds a row. Messages name `window`, the window of the slot.
    ///
    /// # Errors
    ///
    /// A row that cannot be added: a function of the user failed.
    fn update(&mut self, slot: Slot, row: Self::Row, window: Window) -> Result<()>;

    /// Adds a row to distinct slots, each with its window.
    fn update_all(&mut self, slots: &[(Slot, Window)], row: Self::Row) -> Result<()> {
        let mut slots = slots.iter();
        slots.try_for_each(|&(slot, window)| self.update(slot, row, window))
    }

    /// Merges slot `from` into slot `into`, which holds older rows. `window` is the merged window.
    ///
    /// # Errors
    ///
    /// States that cannot be merged: a function of the user failed.
    fn merge(&mut self, into: Slot, from: Slot, window: Window) -> Result<()>;

    /// Overwrites slot `to` with a copy of slot `from`.
    ///
    /// # Errors
    ///
    /// States that cannot be copied: a function of the user failed.
    fn copy(&mut self, to: Slot, from: Slot) -> Result<()>;

    /// The identity merged with slot `from`, which is released. If merging with the identity changes
    /// nothing, the result is `from` itself.
    fn adopt(&mut self, from: Slot, window: Window) -> Result<Slot> {
        let into = self.allocate()?;
        self.merge(into, from, window)?;
        self.release(from);
        Ok(into)
    }

    /// Whether the whole aggregate is null, which deletes the window as in Kafka.
    fn is_null(&self, _slot: Slot) -> bool {
        false
    }
}
