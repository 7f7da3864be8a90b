//! Computes the windows of many records at once. What an aggregate covers of a window is a run of
//! members, and its state merges their states.
//!
//! ```text
//!   members of a key, by time    ├──time──time──┼──time──time──record──record──┤
//!   windows, as runs of them                    ├───────────────┤
//!                                                     ├──────────────────┤
//!   a shorter frame of each                            ├────────┤
//!                                                              ├─────────┤
//! ```

use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::batch_states::BatchStates;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::{RowSpan, two_stacks};
use crate::core::error::Result;
use crate::plan::frames::FramedAggregates;

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
pub(super) struct WindowRuns {
    members: Vec<Member>,
    /// For each frame, the run of each window.
    runs: Vec<Vec<RowSpan>>,
    /// The slot of each window.
    into: Vec<Slot>,
}

impl WindowRuns {
    /// No windows yet; each will have this many frames.
    pub(super) fn new(frames: usize) -> Self {
        Self {
            members: Vec::new(),
            runs: vec![Vec::new(); frames],
            into: Vec::new(),
        }
    }

    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.into.len()
    }

    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    /// Adds members of a key.
    pub(super) fn extend(&mut self, members: impl Iterator<Item = Member>) {
        self.members.extend(members);
    }

    /// Adds a window. For each frame, `own` has the first member and the one after the last.
    pub(super) fn push(&mut self, slot: Slot, own: impl Iterator<Item = (usize, usize)>) {
        for (runs, (from, to)) in self.runs.iter_mut().zip(own) {
            runs.push(RowSpan {
                from: from as u32,
                to: to as u32,
            });
        }
        self.into.push(slot);
    }

    /// Merges the states of windows into their slots. `framed` has the aggregates over each frame.
    pub(super) fn merge(
        &self,
        framed: &mut [FramedAggregates],
        stored: &BatchStates<'_>,
    ) -> Result<()> {
        let mut runs = self.runs.iter().zip(framed);
        runs.try_for_each(|(runs, aggregates)| self.merge_runs(runs, aggregates, stored))
    }

    fn merge_runs(
        &self,
        runs: &[RowSpan],
        FramedAggregates {
            states,
            stored: places,
            ..
        }: &mut FramedAggregates,
        stored: &BatchStates<'_>,
    ) -> Result<()> {
        let merges: u64 = runs.iter().map(|run| run.len() as u64).sum();
        if merges > MERGES * self.members.len() as u64 && !states.result_grows() {
            let lift =
                |states: &mut Accumulators, place: u32| match self.members.get(place as usize) {
                    Some(&Member::Time(time)) => {
                        let (slot, stored) = (Slot(place), stored.accumulators());
                        states.merge_from(&[slot], stored, places, &[time])
                    }
                    Some(&Member::Row(row)) => stored.lift_into(states, Slot(place), row),
                    None => Ok(()),
                };
            let members = self.members.len();
            return two_stacks::merge_spans(states, members, runs, &self.into, lift);
        }
        let (mut into, mut from, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (run, &slot) in runs.iter().zip(&self.into) {
            let own = self.members.get(run.from as usize..run.to as usize);
            for &member in own.unwrap_or_default() {
                match member {
                    Member::Time(time) => {
                        into.push(slot);
                        from.push(time);
                    }
                    Member::Row(row) => rows.push((slot, row)),
                }
            }
        }
        // Rows come after the stored records of their time.
        states.merge_from(&into, stored.accumulators(), places, &from)?;
        let mut rows = rows.into_iter();
        rows.try_for_each(|(slot, row)| stored.lift_into(states, slot, row))
    }
}
