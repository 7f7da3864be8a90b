//! A bank as states of the record operators: each row of a batch is one record.

use super::accumulators::Accumulators;
use super::column::Column;
use super::slot::Slot;
use super::states::States;
use super::{Run, SeqNo};
use crate::error::Result;
use crate::time::Time;
use crate::window::Window;

/// Where a merge within one bank passes through.
const THROUGH: Slot = Slot(0);

/// A bank and the batch that it is updated from. A row is named by its number.
pub struct BatchStates<'a> {
    accumulators: &'a mut Accumulators,
    through: Accumulators,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    inputs: &'a [Column<'a>],
}

impl<'a> BatchStates<'a> {
    /// The slices are parallel; `inputs` are the columns that the bank's aggregates speak of.
    pub fn new(
        accumulators: &'a mut Accumulators,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [Column<'a>],
    ) -> Self {
        let mut through = accumulators.fresh();
        through.resize(1);
        Self {
            accumulators,
            through,
            times,
            seq_nos,
            inputs,
        }
    }

    /// The bank, to lower what is emitted.
    pub fn accumulators(&self) -> &Accumulators {
        self.accumulators
    }

    /// A bank of `count` slots, with all rows of the batch combined into theirs.
    pub fn group(&self, slots: &[Slot], count: usize) -> Result<Accumulators> {
        let mut grouped = self.accumulators.fresh();
        grouped.resize(count);
        grouped.update(slots, self.times, self.seq_nos, self.inputs)?;
        Ok(grouped)
    }

    /// Combines slots of what was grouped into slots of the bank.
    pub fn merge_grouped(
        &mut self,
        into: &[Slot],
        grouped: &Accumulators,
        from: &[Slot],
    ) -> Result<()> {
        self.accumulators.merge(into, grouped, from)
    }

    /// Combines runs of `rows` into slots of the bank; `runs` and `into` are parallel. As in a
    /// sweep each row is lifted at most twice, however many runs it is in:
    ///
    /// ```text
    ///        from        middle        to
    ///   ······├─── front ──┼─── back ───┤······
    ///          suffixes     prefixes
    /// ```
    pub fn merge_runs(&mut self, rows: &[u32], runs: &[Run], into: &[Slot]) -> Result<()> {
        let (mut fronts, mut backs) = (self.accumulators.fresh(), self.accumulators.fresh());
        fronts.resize(rows.len());
        backs.resize(rows.len());
        let (mut of_fronts, mut of_backs) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        let (mut middle, mut right) = (0, 0);
        for (&Run { from, to }, &slot) in runs.iter().zip(into).filter(|(run, _)| run.from < run.to)
        {
            if from >= middle {
                for row in (from..to).rev() {
                    self.grow(&mut fronts, rows, row, (row + 1 < to).then_some(row + 1))?;
                }
                (middle, right) = (to, to);
            }
            for row in right..to {
                self.grow(&mut backs, rows, row, (row > middle).then(|| row - 1))?;
            }
            right = right.max(to);
            of_fronts.0.push(slot);
            of_fronts.1.push(Slot(from));
            if to > middle {
                of_backs.0.push(slot);
                of_backs.1.push(Slot(to - 1));
            }
        }
        self.accumulators
            .merge(&of_fronts.0, &fronts, &of_fronts.1)?;
        self.accumulators.merge(&of_backs.0, &backs, &of_backs.1)
    }

    /// Makes the slot of a row hold that row, and what the slot of its neighbour holds.
    fn grow(
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
            Some(&lifted) => accumulators.lift(
                Slot(row),
                lifted as usize,
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
        self.through.clear(THROUGH);
        self.through.merge(&[THROUGH], self.accumulators, &[from])?;
        self.accumulators.merge(&[into], &self.through, &[THROUGH])
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.accumulators.copy(to, from);
        Ok(())
    }

    fn adopt(&mut self, from: Slot, _window: Window) -> Result<Slot> {
        Ok(from)
    }
}
