//! Aggregates that are not built in: one value per slot, known only to whoever holds it.

use arrow_array::ArrayRef;

use crate::aggregate::slot::Slot;

/// Why a function failed.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A function that failed.
pub struct FunctionFailure {
    /// Which of the user's functions, by the argument that takes it.
    pub function: &'static str,
    /// Why.
    pub cause: Cause,
    /// At which of several slots.
    pub nth: Option<usize>,
}

/// Result of a function of the user.
pub type Outcome<T> = Result<T, FunctionFailure>;

/// One value per slot. A slot that was released holds nothing until it is updated, merged into or
/// copied to.
pub trait UserFunction: Send {
    /// Grows to `slots` slots at least.
    fn resize(&mut self, slots: usize);

    /// Makes a slot hold nothing.
    fn release(&mut self, slot: Slot);

    /// Whether rows of an input of a cogroup change what a slot holds.
    fn takes(&self, input: usize) -> bool;

    /// Adds a row of the batch; `input` is the input of a cogroup, 0 otherwise.
    fn update(&mut self, slot: Slot, row: usize, input: usize) -> Outcome<()>;

    /// Merges slot `from` into slot `into`, which holds what is older.
    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()>;

    /// Makes slot `to` hold the same as slot `from`, and nothing that changes with it.
    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()>;

    /// Merges the identity with what a slot holds.
    fn renew(&mut self, slot: Slot) -> Outcome<()>;

    /// Whether the value of a slot is null.
    fn is_null(&self, slot: Slot) -> bool;

    /// The values of slots, one row each, as they are shown and saved.
    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef>;

    /// Puts saved values back, one for each of the slots.
    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()>;
}
