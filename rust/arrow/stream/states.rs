//! The states of a record operator at work on one batch: built-in aggregates and the user's own over the same slots.

use arrow_array::ArrayRef;

use super::user_function::{Custom, Failure};
use crate::aggregate::accumulators::Misfit;
use crate::aggregate::batch_states::Banked;
use crate::aggregate::column::Column;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::arrow::plan::query::Query;
use crate::error::{Error, Result};
use crate::time::Time;
use crate::window::Window;

/// Built-in aggregates and the user's own.
pub struct Worked<'a> {
    query: &'a Query,
    banked: Banked<'a>,
    custom: &'a mut [Box<dyn Custom>],
    /// A window whose only aggregate is null is deleted, as in Kafka (rules 6.5).
    deletes: bool,
    /// The record that is worked on.
    pub at: At,
}

/// A record of the batch, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Its row.
    pub row: usize,
    /// Its input, of a cogroup.
    pub input: usize,
    /// Its time; none where windows change without a record.
    pub time: Option<Time>,
}

impl<'a> Worked<'a> {
    /// `banked` holds the states of the query's built-in aggregates, `custom` those of its other ones, in their order.
    pub fn new(query: &'a Query, banked: Banked<'a>, custom: &'a mut [Box<dyn Custom>], deletes: bool) -> Self {
        Self { query, banked, custom, deletes, at: At::default() }
    }

    /// The states of the built-in aggregates.
    pub fn banked(&mut self) -> &mut Banked<'a> {
        &mut self.banked
    }

    /// A slot that holds a copy of another one's states.
    pub fn keep(&mut self, slot: Slot, window: Window) -> Result<Slot> {
        let kept = self.allocate()?;
        self.overwrite(kept, slot, window)?;
        Ok(kept)
    }

    /// Makes slot `kept` hold a copy of another one's states, those of `window`.
    pub fn overwrite(&mut self, kept: Slot, slot: Slot, window: Window) -> Result<()> {
        self.banked.copy(kept, slot)?;
        self.each(Some(window), |custom| custom.copy(kept, slot))
    }

    /// The results of slots, each of one of `windows`: a column per aggregate of the query.
    pub fn lower(&self, slots: &[Slot], windows: &[Window]) -> Result<Vec<ArrayRef>> {
        lower(self.query, self.banked.bank().lower(slots), self.custom, slots, windows)
    }

    fn each(&mut self, window: Option<Window>, mut does: impl FnMut(&mut dyn Custom) -> std::result::Result<(), Failure>) -> Result<()> {
        let (query, at) = (self.query, self.at);
        for (nth, custom) in self.custom.iter_mut().enumerate() {
            does(custom.as_mut()).map_err(|failure| failed(query, nth, failure, at.time, window.as_ref()))?;
        }
        Ok(())
    }
}

/// The error of a function of the user, at a record and in a window where these are known.
pub fn failed(query: &Query, nth: usize, failure: Failure, record: Option<Time>, window: Option<&Window>) -> Error {
    let python = query.aggregates.iter().filter(|planned| planned.states().is_none());
    let aggregate = python.map(|planned| planned.name.clone()).nth(nth).unwrap_or_default();
    let record = record.map(|time| format!(" for the record at {},", query.show(time))).unwrap_or_default();
    let window = window.map(|window| format!(" in the window {}", query.show_window(window))).unwrap_or_default();
    Error::Function { aggregate, function: failure.function, place: record + &window, cause: failure.cause }
}

/// What a function of the user made of slots, each of one of `windows`.
pub fn save(query: &Query, nth: usize, custom: &dyn Custom, slots: &[Slot], windows: &[Window]) -> Result<ArrayRef> {
    custom.save(slots).map_err(|failure| {
        let window = failure.nth.and_then(|nth| windows.get(nth));
        failed(query, nth, failure, None, window)
    })
}

/// Built-in results and the user's own, in the order of the query's aggregates.
pub fn lower(
    query: &Query,
    lowered: std::result::Result<Vec<Column<'static>>, Misfit>,
    custom: &[Box<dyn Custom>],
    slots: &[Slot],
    windows: &[Window],
) -> Result<Vec<ArrayRef>> {
    let built_in = || query.aggregates.iter().filter(|planned| planned.states().is_some());
    let lowered = lowered.map_err(|misfit| match built_in().nth(misfit.aggregate) {
        Some(planned) => query.misfit(planned, &misfit.cause, windows),
        None => Error::Internal("a result belongs to an aggregate"),
    })?;
    let (mut lowered, mut custom) = (lowered.into_iter(), custom.iter().enumerate());
    let column = |planned: &crate::arrow::plan::aggregate::Planned| {
        if planned.states().is_some() {
            let column = lowered.next().ok_or(Error::Internal("each aggregate has results"))?;
            return crate::arrow::array::convert::result(column, planned.field().data_type());
        }
        let (nth, custom) = custom.next().ok_or(Error::Internal("each aggregate has results"))?;
        save(query, nth, custom.as_ref(), slots, windows)
    };
    query.aggregates.iter().map(column).collect()
}

impl States for Worked<'_> {
    type Row = u32;

    fn allocate(&mut self) -> Result<Slot> {
        let slot = self.banked.allocate()?;
        self.custom.iter_mut().for_each(|custom| custom.resize(slot.0 as usize + 1));
        Ok(slot)
    }

    fn release(&mut self, slot: Slot) {
        self.banked.release(slot);
        self.custom.iter_mut().for_each(|custom| custom.release(slot));
    }

    fn update(&mut self, slot: Slot, row: u32, window: Window) -> Result<()> {
        self.banked.update(slot, row, window)?;
        let At { row, input, .. } = self.at;
        self.each(Some(window), |custom| custom.update(slot, row, input))
    }

    fn merge(&mut self, into: Slot, from: Slot, window: Window) -> Result<()> {
        self.banked.merge(into, from, window)?;
        self.each(Some(window), |custom| custom.merge(into, from))
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        self.banked.copy(to, from)?;
        self.each(None, |custom| custom.copy(to, from))
    }

    fn adopt(&mut self, from: Slot, window: Window) -> Result<Slot> {
        let slot = self.banked.adopt(from, window)?;
        self.each(Some(window), |custom| custom.renew(slot))?;
        Ok(slot)
    }

    fn is_null(&self, slot: Slot) -> bool {
        self.deletes && self.custom.iter().all(|custom| custom.is_null(slot))
    }
}
