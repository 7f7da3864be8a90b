//! Aggregates: identity, lift, combine, lower; one aggregate a file.
//!
//! An aggregate is a vector of states, one per [`Slot`]. A state knows the time and the arrival of
//! what it keeps where that matters, so every `merge` is associative and commutative: the answer
//! does not depend on how rows were cut into batches, splits or shards.

pub mod column;
pub mod scalar;
pub mod slot;
pub mod states;

pub mod count;
pub mod extreme;
pub mod sum;
pub mod total;

mod double;
mod sweep;

use std::any::Any;

use crate::error::{Error, Result};
use crate::time::Time;
use column::Column;
use slot::Slot;

/// Rows to aggregate: parallel slices.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Event times, in full resolution.
    pub times: &'a [Time],
    /// Where each row stands among all rows of the input; breaks ties of equal times.
    pub arrivals: &'a [Arrival],
    /// The columns that the aggregate takes, in its own order.
    pub inputs: &'a [Column<'a>],
}

/// A row's place in the order of arrival.
pub type Arrival = u64;

/// A run of sorted rows that makes up one sliding window: `from` inclusive, `to` exclusive.
///
/// In a list of runs both bounds never go back, so a sweep is one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First row.
    pub from: u32,
    /// One past the last row.
    pub to: u32,
}

/// A window's result does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrepresentable {
    /// Which of the lowered windows.
    pub window: usize,
    /// What does not fit.
    pub reason: &'static str,
}

/// What lowering gives: one row per window, or the first window whose result does not fit.
pub type Lowered = std::result::Result<Column<'static>, Unrepresentable>;

/// A vector of states, one per slot.
pub trait Aggregate: Any + Send {
    /// An empty vector of the same kind.
    fn fresh(&self) -> Box<dyn Aggregate>;

    /// Grows to `slots` slots. New ones hold the identity: the state of no rows.
    fn resize(&mut self, slots: usize);

    /// Lifts each row and combines it into its slot; `slots` is parallel to the rows.
    fn update(&mut self, slots: &[Slot], rows: Rows<'_>) -> Result<()>;

    /// Combines state `from[i]` of `other` into slot `into[i]`. `other` is of the same kind.
    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()>;

    /// Overwrites slot `to` with a copy of slot `from`.
    fn copy(&mut self, to: Slot, from: Slot);

    /// Puts the identity back into a slot.
    fn clear(&mut self, slot: Slot);

    /// The results of `slots`, one row each.
    fn lower(&self, slots: &[Slot]) -> Lowered;

    /// The states of `slots` as columns, one row per slot, for blocks and pages.
    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>>;

    /// Reads back what `save` wrote: a vector with one slot per row.
    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>>;

    /// The results of sliding windows over rows sorted by (key, time, arrival), one row per run.
    fn sweep(&self, rows: Rows<'_>, runs: &[Run]) -> Result<Lowered>;
}

/// The other vector of states, which must be of the same kind.
fn of_kind<T: Aggregate>(other: &dyn Aggregate) -> Result<&T> {
    let other: &dyn Any = other;
    other.downcast_ref().ok_or(Error::Internal("states of different aggregates cannot be merged"))
}
