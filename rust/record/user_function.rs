//! Aggregates that are not built in: one value per slot, of a type that the core does not know.

use arrow_array::ArrayRef;

use crate::core::aggregate::slot::Slot;
use crate::plan::function_failure::{FunctionFailure, Outcome};

/// One value per slot. A slot that was released is empty until it is updated, merged into or copied
/// to.
pub trait UserFunction: Send {
    /// Grows to `slots` slots at least.
    fn resize(&mut self, slots: usize);

    /// Empties a slot.
    fn release(&mut self, slot: Slot);

    /// Whether rows of an input of a cogroup change the value of a slot.
    fn takes(&self, input: usize) -> bool;

    /// Adds a row of the batch; `input` is the input of a cogroup, 0 otherwise.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of the function that adds a row, or that makes the value of an empty slot.
    fn update(&mut self, slot: Slot, row: usize, input: usize) -> Outcome<()>;

    /// Adds a row of the batch to several slots, none of which is there twice.
    ///
    /// # Errors
    ///
    /// As [`Self::update`]; the failure has the place of the slot among them.
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

    /// Merges slot `from` into slot `into`, which is the older one.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of the function that merges, or that makes the value of an empty slot.
    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()>;

    /// Overwrites slot `to` with a copy of slot `from` that does not change with it.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of a value that cannot be copied.
    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()>;

    /// Merges the identity with the value of a slot.
    ///
    /// # Errors
    ///
    /// As [`Self::merge`].
    fn renew(&mut self, slot: Slot) -> Outcome<()>;

    /// Whether the value of a slot is null.
    fn is_null(&self, slot: Slot) -> bool;

    /// The values of slots, one row each, as results and as saved state.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of a value that is none of the result's type, or of more values than fit one array.
    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef>;

    /// Puts saved values back, one for each of the slots.
    ///
    /// # Errors
    ///
    /// A [`FunctionFailure`] of values that are not as [`Self::save`] made them.
    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()>;
}
