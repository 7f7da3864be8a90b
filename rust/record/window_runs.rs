//! The windows of many records at once: each is a run of members, of which it has the states merged.
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

/// How often a member may be merged into windows one by one: in more of them, it goes by way of two
/// stacks.
const MERGES: u64 = 4;

/// What a window has.
#[derive(Clone, Copy)]
pub(super) enum Member {
    /// The records of a time that is stored, by the slot of their states.
    Time(Slot),
    /// A row of the batch that is not stored.
    Row(u32),
}

/// Windows, one key after the other.
#[derive(Default)]
pub(super) struct WindowRuns {
    members: Vec<Member>,
    runs: Vec<RowSpan>,
    /// The slot of each window.
    into: Vec<Slot>,
}

impl WindowRuns {
    /// How many windows there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// How many members there are.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Adds members of a key.
    pub fn extend(&mut self, members: impl Iterator<Item = Member>) {
        self.members.extend(members);
    }

    /// Adds a window of the members in a range.
    pub fn push(&mut self, from: usize, to: usize, slot: Slot) {
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
    pub fn merge(&self, states: &mut Accumulators, stored: &BatchStates<'_>) -> Result<()> {
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

/// Combines a member into a slot.
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
