//! [`Accumulators`] as states of the record operators: each row of a batch is one record.

use super::accumulators::Accumulators;
use super::column::Column;
use super::slot::Slot;
use super::states::States;
use super::{Run, SeqNo};
use crate::error::Result;
use crate::time::Time;
use crate::window::Window;

/// The slot of the scratch accumulators.
const SCRATCH: Slot = Slot(0);

/// Accumulators and the batch that they are updated from. A row is named by its number.
pub struct BatchStates<'a> {
    accumulators: &'a mut Accumulators,
    /// One slot, which a merge of two slots of `accumulators` goes by.
    scratch: Accumulators,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    inputs: &'a [Column<'a>],
}

impl<'a> BatchStates<'a> {
    /// The slices are parallel; `inputs` are the columns that the aggregates take.
    pub fn new(
        accumulators: &'a mut Accumulators,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [Column<'a>],
    ) -> Self {
        let mut scratch = accumulators.fresh();
        scratch.resize(1);
        Self {
            accumulators,
            scratch,
            times,
            seq_nos,
            inputs,
        }
    }

    /// The accumulators, to lower what is emitted.
    pub fn accumulators(&self) -> &Accumulators {
        self.accumulators
    }

    /// Accumulators of `count` slots, with each row of the batch combined into its slot.
    ///
    /// # Errors
    ///
    /// As [`Accumulators::update`].
    pub fn group(&self, slots: &[Slot], count: usize) -> Result<Accumulators> {
        let mut grouped = self.accumulators.fresh();
        grouped.resize(count);
        grouped.update(slots, self.times, self.seq_nos, self.inputs)?;
        Ok(grouped)
    }

    /// Combines slots of [`Self::group`] into slots of the accumulators.
    ///
    /// # Errors
    ///
    /// As [`Accumulators::merge`].
    pub fn merge_grouped(
        &mut self,
        into: &[Slot],
        grouped: &Accumulators,
        from: &[Slot],
    ) -> Result<()> {
        self.accumulators.merge(into, grouped, from)
    }

    /// Combines runs of `rows` into slots of the accumulators; `runs` and `into` are parallel. As in
    /// a sweep each row is lifted at most twice, however many runs it is in:
    ///
    /// ```text
    ///        from        middle        to
    ///   ······├─── front ──┼─── back ───┤······
    ///          suffixes     prefixes
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Accumulators::update`].
    pub fn merge_runs(&mut self, rows: &[u32], runs: &[Run], into: &[Slot]) -> Result<()> {
        let (mut fronts, mut backs) = (self.accumulators.fresh(), self.accumulators.fresh());
        fronts.resize(rows.len());
        backs.resize(rows.len());
        let (mut into_fronts, mut into_backs) = (Vec::new(), Vec::new());
        let (mut front_slots, mut back_slots) = (Vec::new(), Vec::new());
        let (mut middle, mut right) = (0, 0);
        for (&Run { from, to }, &slot) in runs.iter().zip(into).filter(|(run, _)| run.from < run.to)
        {
            if from >= middle {
                for row in (from..to).rev() {
                    self.extend(&mut fronts, rows, row, (row + 1 < to).then_some(row + 1))?;
                }
                (middle, right) = (to, to);
            }
            for row in right..to {
                self.extend(&mut backs, rows, row, (row > middle).then(|| row - 1))?;
            }
            right = right.max(to);
            into_fronts.push(slot);
            front_slots.push(Slot(from));
            if to > middle {
                into_backs.push(slot);
                back_slots.push(Slot(to - 1));
            }
        }
        self.accumulators
            .merge(&into_fronts, &fronts, &front_slots)?;
        self.accumulators.merge(&into_backs, &backs, &back_slots)
    }

    /// The slot of a row becomes that of its neighbour and the row.
    fn extend(
        &self,
        accumulators: &mut Accumulators,
        rows: &[u32],
        row: u32,
        neighbour: Option<u32>,
    ) -> Result<()> {
        if let Some(neighbour) = neighbour {
            accumulators.copy(Slot(row), Slot(neighbour));
        }
        match rows.get(row as usize) {
            Some(&number) => accumulators.lift(
                Slot(row),
                number as usize,
                self.times,
                self.seq_nos,
                self.inputs,
            ),
            None => Ok(()),
        }
    }
}

impl States for BatchStates<'_> {
    type Row = u32;

    fn allocate(&mut self) -> Result<Slot> {
        self.accumulators.allocate()
    }

    fn release(&mut self, slot: Slot) {
        self.accumulators.release(slot);
    }

    fn update(&mut self, slot: Slot, row: u32, _window: Window) -> Result<()> {
        self.accumulators
            .lift(slot, row as usize, self.times, self.seq_nos, self.inputs)
    }

    fn merge(&mut self, into: Slot, from: Slot, _window: Window) -> Result<()> {
        self.scratch.clear(SCRATCH);
        self.scratch.merge(&[SCRATCH], self.accumulators, &[from])?;
        self.accumulators.merge(&[into], &self.scratch, &[SCRATCH])
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.accumulators.copy(to, from);
        Ok(())
    }

    fn adopt(&mut self, from: Slot, _window: Window) -> Result<Slot> {
        Ok(from)
    }
}
