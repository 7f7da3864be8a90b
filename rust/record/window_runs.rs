//! Computes the windows of many records at once. Each window is a run of members, and its state
//! merges their states.
//!
//! ```text
//!   members of a key, by time    ├──time──time──┼──time──time──record──record──┤
//!   windows, as runs of them                    ├───────────────┤
//!                                                     ├──────────────────┤
//! ```

use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::batch_states::BatchStates;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::{RowSpan, two_stacks};
use crate::core::error::Result;

/// The average number of windows per member up to which members are merged one by one. Above it,
/// two stacks merge them.
const MERGES: u64 = 4;

/// A part of a window.
#[derive(Clone, Copy)]
pub(super) enum Member {
    /// The stored records of one time, by the slot of their states.
    Time(Slot),
    /// A row of the batch that is not stored yet.
    Row(u32),
}

/// Windows, grouped by key.
#[derive(Default)]
pub(super) struct WindowRuns {
    members: Vec<Member>,
    runs: Vec<RowSpan>,
    /// The slot of each window.
    into: Vec<Slot>,
}

impl WindowRuns {
    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    /// Adds members of a key.
    pub(super) fn extend(&mut self, members: impl Iterator<Item = Member>) {
        self.members.extend(members);
    }

    /// Adds a window with the members from `from` to `to`, exclusive.
    pub(super) fn push(&mut self, from: usize, to: usize, slot: Slot) {
        self.runs.push(RowSpan {
            from: from as u32,
            to: to as u32,
        });
        self.into.push(slot);
    }

    /// Merges the states of windows into their slots.
    ///
    /// # Errors
    ///
    /// As [`Accumulators::update`].
    pub(super) fn merge(&self, states: &mut Accumulators, stored: &BatchStates<'_>) -> Result<()> {
        let merges: u64 = self.runs.iter().map(|run| run.len() as u64).sum();
        if merges > MERGES * self.members.len() as u64 && !states.result_grows() {
            let lift =
                |states: &mut Accumulators, place: u32| match self.members.get(place as usize) {
                    Some(&member) => lift(states, stored, Slot(place), member),
                    None => Ok(()),
                };
            return two_stacks::merge_spans(
                states,
                self.members.len(),
                &self.runs,
                &self.into,
                lift,
            );
        }
        let (mut into, mut from) = (Vec::new(), Vec::new());
        for (run, &slot) in self.runs.iter().zip(&self.into) {
            let own = self.members.get(run.from as usize..run.to as usize);
            for &member in own.unwrap_or_default() {
                match member {
                    Member::Time(time) => {
                        into.push(slot);
                        from.push(time);
                    }
                    Member::Row(_) => lift(states, stored, slot, member)?,
                }
            }
        }
        states.merge(&into, stored.accumulators(), &from)
    }
}

/// Merges a member into a slot.
fn lift(
    states: &mut Accumulators,
    stored: &BatchStates<'_>,
    slot: Slot,
    member: Member,
) -> Result<()> {
    match member {
        Member::Time(time) => states.merge(&[slot], stored.accumulators(), &[time]),
        Member::Row(row) => stored.lift_into(states, slot, row),
    }
}
