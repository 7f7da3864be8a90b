//! A bank as states of the record operators: each row of a batch is one record.

use super::Arrival;
use super::bank::Bank;
use super::column::Column;
use super::slot::Slot;
use super::states::States;
use crate::error::Result;
use crate::time::Time;
use crate::window::Window;

/// Where a merge within one bank passes through.
const THROUGH: Slot = Slot(0);

/// A bank and the batch that it is updated from. A row is named by its number.
pub struct Banked<'a> {
    bank: &'a mut Bank,
    through: Bank,
    times: &'a [Time],
    arrivals: &'a [Arrival],
    inputs: &'a [Column<'a>],
}

impl<'a> Banked<'a> {
    /// The slices are parallel; `inputs` are the columns that the bank's aggregates speak of.
    pub fn new(bank: &'a mut Bank, times: &'a [Time], arrivals: &'a [Arrival], inputs: &'a [Column<'a>]) -> Self {
        let mut through = bank.fresh();
        through.resize(1);
        Self { bank, through, times, arrivals, inputs }
    }

    /// The bank, to lower what is emitted.
    pub fn bank(&self) -> &Bank {
        self.bank
    }

    /// A bank of `count` slots, with all rows of the batch combined into theirs.
    pub fn group(&self, slots: &[Slot], count: usize) -> Result<Bank> {
        let mut grouped = self.bank.fresh();
        grouped.resize(count);
        grouped.update(slots, self.times, self.arrivals, self.inputs)?;
        Ok(grouped)
    }

    /// Combines slots of what was grouped into slots of the bank.
    pub fn merge_grouped(&mut self, into: &[Slot], grouped: &Bank, from: &[Slot]) -> Result<()> {
        self.bank.merge(into, grouped, from)
    }
}

impl States for Banked<'_> {
    type Row = u32;

    fn allocate(&mut self) -> Result<Slot> {
        self.bank.allocate()
    }

    fn release(&mut self, slot: Slot) {
        self.bank.release(slot);
    }

    fn update(&mut self, slot: Slot, row: u32, _window: Window) -> Result<()> {
        self.bank.lift(slot, row as usize, self.times, self.arrivals, self.inputs)
    }

    fn merge(&mut self, into: Slot, from: Slot, _window: Window) -> Result<()> {
        self.through.clear(THROUGH);
        self.through.merge(&[THROUGH], self.bank, &[from])?;
        self.bank.merge(&[into], &self.through, &[THROUGH])
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.bank.copy(to, from);
        Ok(())
    }

    fn adopt(&mut self, from: Slot, _window: Window) -> Result<Slot> {
        Ok(from)
    }
}
