//! User-defined aggregates: one value per slot, of a type that the core does not know.

use arrow_array::ArrayRef;

use crate::core::aggregate::slot::Slot;
use crate::plan::function_failure::{FunctionFailure, Outcome};

/// One value per slot. A released slot stays empty until an update, merge or copy fills it.
pub trait UserFunction: Send {
    /// Grows to at least `slots` slots.
    fn resize(&mut self, slots: usize);

    /// Empties a slot.
    fn release(&mut self, slot: Slot);

    /// Whether rows of an input of a cogroup change the value of a slot.
    fn takes(&self, input: usize) -> bool;

    /// Adds a row of the batch. `input` is the input of a cogroup, 0 otherwise.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of the function that adds a row or initializes an empty slot.
    fn update(&mut self, slot: Slot, row: usize, input: usize) -> Outcome<()>;

    /// Adds a row of the batch to several distinct slots.
    ///
    /// # Errors
    ///
    /// As [`Self::update`]. The failure has the index of the slot in `slots`.
    fn update_all(&mut self, slots: &[Slot], row: usize, input: usize) -> Outcome<()> {
        let mut slots = slots.iter().enumerate();
        slots.try_for_each(|(nth, &slot)| {
            let updated = self.update(slot, row, input);
            updated.map_err(|failure| FunctionFailure {
                nth: Some(nth),
                ..failure
            })
        })
    }

    /// Merges slot `from` into the older slot `into`.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of the function that merges or initializes an empty slot.
    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()>;

    /// Overwrites slot `to` with an independent copy of slot `from`.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] for a value that cannot be copied.
    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()>;

    /// Merges the identity with the value of a slot.
    fn renew(&mut self, slot: Slot) -> Outcome<()>;

    /// Whether the value of a slot is null.
    fn is_null(&self, slot: Slot) -> bool;

    /// The values of slots, one row each. They serve as results and as saved state.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] for a value of another type than the result, or for more values than
    /// fit one array.
    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef>;

    /// Restores saved values, one per slot.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] for values that [`Self::save`] did not return.
    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()>;
}
