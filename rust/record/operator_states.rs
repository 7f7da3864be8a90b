//! The states of a record operator during one batch. Built-in and user-defined aggregates share
//! slots.

use arrow_array::ArrayRef;

use super::user_function::UserFunction;
use crate::core::aggregate::batch_states::BatchStates;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::plan::function_failure::FunctionFailure;
use crate::plan::query::Query;

/// The states of built-in and user-defined aggregates.
pub(crate) struct OperatorStates<'a> {
    query: &'a Query,
    batch_states: BatchStates<'a>,
    functions: &'a mut [Box<dyn UserFunction>],
    /// Whether a null result deletes a window with a single aggregate, as in Kafka (rules 6.5).
    deletes: bool,
    /// The record that updates the states, for messages.
    pub at: CurrentRecord,
}

/// A record of the batch, or none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CurrentRecord {
    /// The row in the batch.
    pub row: usize,
    /// The input of a cogroup.
    pub input: usize,
    /// The time. `None` if windows change without a record.
    pub time: Option<Time>,
}

impl<'a> OperatorStates<'a> {
    /// `batch_states` has the built-in aggregates of the query. `functions` has the others, in
    /// order.
    pub(crate) fn new(
        query: &'a Query,
        batch_states: BatchStates<'a>,
        functions: &'a mut [Box<dyn UserFunction>],
        deletes: bool,
    ) -> Self {
        Self {
            query,
            batch_states,
            functions,
            deletes,
            at: CurrentRecord::default(),
        }
    }

    /// The states of the built-in aggregates.
    pub(crate) fn batch_states(&mut self) -> &mut BatchStates<'a> {
        &mut self.batch_states
    }

    /// Whether there are user-defined functions.
    pub(crate) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Copies the states of a slot to a new slot.
    pub(crate) fn keep(&mut self, slot: Slot, window: Window) -> Result<Slot> {
        let kept = self.allocate()?;
        self.overwrite(kept, slot, window)?;
        Ok(kept)
    }

    /// Overwrites slot `kept` with a copy of the states of `slot`, which belong to `window`.
    pub(crate) fn overwrite(&mut self, kept: Slot, slot: Slot, window: Window) -> Result<()> {
        self.batch_states.copy(kept, slot)?;
        self.each(Some(window), |functions| functions.copy(kept, slot))
    }

    fn each(
        &mut self,
        window: Option<Window>,
        mut call: impl FnMut(&mut dyn UserFunction) -> std::result::Result<(), FunctionFailure>,
    ) -> Result<()> {
        let (query, at) = (self.query, self.at);
        for (nth, function) in self.functions.iter_mut().enumerate() {
            call(function.as_mut())
                .map_err(|failure| query.failed(nth, failure, at.time, window.as_ref()))?;
        }
        Ok(())
    }
}

/// The values of a user-defined function. `windows` is parallel to `slots`.
pub(crate) fn save(
    query: &Query,
    nth: usize,
    function: &dyn UserFunction,
    slots: &[Slot],
    windows: &[Window],
) -> Result<ArrayRef> {
    function.save(slots).map_err(|failure| {
        let window = failure.nth.and_then(|nth| windows.get(nth));
        query.failed(nth, failure, None, window)
    })
}

impl States for OperatorStates<'_> {
    type Row = u32;

    fn allocate(&mut self) -> Result<Slot> {
        let slot = self.batch_states.allocate()?;
        self.functions
            .iter_mut()
            .for_each(|functions| functions.resize(slot.0 as usize + 1));
        Ok(slot)
    }

    fn release(&mut self, slot: Slot) {
        self.batch_states.release(slot);
        self.functions
            .iter_mut()
            .for_each(|functions| functions.release(slot));
    }

    fn update(&mut self, slot: Slot, row: u32, window: Window) -> Result<()> {
        self.batch_states.update(slot, row, window)?;
        let CurrentRecord { row, input, .. } = self.at;
        self.each(Some(window), |functions| functions.update(slot, row, input))
    }

    fn update_all(&mut self, slots: &[(Slot, Window)], row: u32) -> Result<()> {
        self.batch_states.update_all(slots, row)?;
        if self.functions.is_empty() {
            return Ok(());
        }
        let (query, at) = (self.query, self.at);
        let numbers: Vec<Slot> = slots.iter().map(|(slot, _)| *slot).collect();
        for (nth, function) in self.functions.iter_mut().enumerate() {
            let updated = function.update_all(&numbers, at.row, at.input);
            updated.map_err(|failure| {
                let window = failure.nth.and_then(|place| slots.get(place));
                query.failed(nth, failure, at.time, window.map(|(_, window)| window))
            })?;
        }
        Ok(())
    }

    fn merge(&mut self, into: Slot, from: Slot, window: Window) -> Result<()> {
        self.batch_states.merge(into, from, window)?;
        self.each(Some(window), |functions| functions.merge(into, from))
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.batch_states.copy(to, from)?;
        self.each(None, |functions| functions.copy(to, from))
    }

    fn adopt(&mut self, from: Slot, window: Window) -> Result<Slot> {
        let slot = self.batch_states.adopt(from, window)?;
        self.each(Some(window), |functions| functions.renew(slot))?;
        Ok(slot)
    }

    fn is_null(&self, slot: Slot) -> bool {
        self.deletes
            && self
                .functions
                .iter()
                .all(|functions| functions.is_null(slot))
    }
}
