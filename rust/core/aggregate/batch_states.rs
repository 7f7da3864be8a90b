//! [`Accumulators`] as states of the record operators: each row of a batch is one record.

use arrow_array::ArrayRef;

use super::accumulators::Accumulators;
use super::slot::Slot;
use super::states::States;
use super::{RowSpan, SeqNo, two_stacks};
use crate::core::error::{Error, Result};
use crate::core::time::Time;
use crate::core::window::Window;

/// Accumulators and the batch that they are updated from. A row is named by its number.
pub struct BatchStates<'a> {
    accumulators: &'a mut Accumulators,
    times: &'a [Time],
    seq_nos: &'a [SeqNo],
    inputs: &'a [ArrayRef],
}

impl<'a> BatchStates<'a> {
    /// The slices are parallel; `inputs` are the columns that the aggregates take.
    pub fn new(
        accumulators: &'a mut Accumulators,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [ArrayRef],
    ) -> Self {
        Self {
            accumulators,
            times,
            seq_nos,
            inputs,
        }
    }

    /// The accumulators, to lower what is emitted.
    pub fn accumulators(&self) -> &Accumulators {
        self.accumulators
    }

    /// Combines a row into a slot of other accumulators of the same aggregates.
    pub fn lift_into(&self, states: &mut Accumulators, slot: Slot, row: u32) -> Result<()> {
        states.lift(slot, row as usize, self.times, self.seq_nos, self.inputs)
    }

    /// Accumulators of `count` slots, with each row of the batch combined into its slot.
    pub fn group(&self, slots: &[Slot], count: usize) -> Result<Accumulators> {
        let mut grouped = self.accumulators.fresh();
        grouped.resize(count);
        grouped.update(slots, self.times, self.seq_nos, self.inputs)?;
        Ok(grouped)
    }

    /// Combines slots of [`Self::group`] into slots of the accumulators.
    pub fn merge_grouped(
        &mut self,
        into: &[Slot],
        grouped: &Accumulators,
        from: &[Slot],
    ) -> Result<()> {
        self.accumulators.merge(into, grouped, from)
    }

    /// Combines spans of `rows` into slots of the accumulators; `spans` and `into` are parallel.
    pub fn merge_spans(&mut self, rows: &[u32], spans: &[RowSpan], into: &[Slot]) -> Result<()> {
        let (times, seq_nos, inputs) = (self.times, self.seq_nos, self.inputs);
        two_stacks::merge_spans(
            self.accumulators,
            rows.len(),
            spans,
            into,
            |states, place| match rows.get(place as usize) {
                Some(&row) => states.lift(Slot(place), row as usize, times, seq_nos, inputs),
                None => Err(Error::Internal("a run of rows is out of range")),
            },
        )
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
        self.accumulators.absorb(into, from);
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.accumulators.copy(to, from);
        Ok(())
    }

    fn adopt(&mut self, from: Slot, _window: Window) -> Result<Slot> {
        Ok(from)
    }
}
