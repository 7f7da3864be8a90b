//! All aggregates of a query over shared slots: slot `s` is one window in every one of them.
//!
//! ```text
//!               slot 0   slot 1   slot 2   slot 3
//!   count         3        7        ·        1
//!   sum(x)       12        9        ·        4        slot 2 is free: it was released
//! ```
//!
//! An aggregate may see only some of the rows: the rows of one input of a cogroup, where the last
//! column numbers the input of each row, or the rows where a boolean column is true.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::bound_aggregate::BoundAggregate;
use super::list_values::ListValues;
use super::row_filter::{RowFilter, Selections};
use super::row_spans::{RowSpans, spanned};
use super::slot::Slot;
use super::unknown_results::UnknownResults;
use super::window_results::{Overflow, WindowResults, of_aggregate};
use super::{Aggregate, InputRows, RowSpan, SeqNo, common_len};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::time::Time;

/// The largest number of values of a short list. The short lists of all windows of a batch of
/// results fit into one batch.
const SHORT_LIST: usize = 256;

/// The aggregates, and which slots are in use.
pub struct Accumulators {
    aggregates: Vec<BoundAggregate>,
    overflow: Overflow,
    unknown: UnknownResults,
    /// Slots that hold states in every aggregate.
    slots: usize,
    /// Slots below this were allocated at least once.
    used: usize,
    free: Vec<Slot>,
}

impl Accumulators {
    /// Aggregates without slots, each with the range of the input columns that it takes.
    #[cfg(any(test, feature = "bench"))]
    pub fn new(aggregates: impl IntoIterator<Item = (Box<dyn Aggregate>, Range<usize>)>) -> Self {
        Self::filtered(
            aggregates
                .into_iter()
                .map(|(aggregate, inputs)| (aggregate, inputs, RowFilter::default())),
        )
    }

    /// The same for aggregates that see only some rows.
    pub fn filtered(
        aggregates: impl IntoIterator<Item = (Box<dyn Aggregate>, Range<usize>, RowFilter)>,
    ) -> Self {
        let aggregates = aggregates.into_iter().map(BoundAggregate::new);
        Self::of(aggregates.collect(), Overflow::default())
    }

    fn of(aggregates: Vec<BoundAggregate>, overflow: Overflow) -> Self {
        Self {
            aggregates,
            overflow,
            unknown: UnknownResults::default(),
            slots: 0,
            used: 0,
            free: Vec::new(),
        }
    }

    /// Decides what happens to a result that does not fit its type.
    pub fn with_overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }

    /// The same aggregates, without slots.
    pub fn fresh(&self) -> Self {
        let aggregates = self.aggregates.iter().map(BoundAggregate::fresh);
        Self::of(aggregates.collect(), self.overflow)
    }

    /// Whether results of a window are lists.
    pub fn keeps_lists(&self) -> bool {
        self.longest_lists().next().is_some()
    }

    /// Whether the results of a window grow with its rows to more than a few hundred values.
    pub fn result_grows(&self) -> bool {
        self.longest_lists().any(|most| most > SHORT_LIST)
    }

    fn longest_lists(&self) -> impl Iterator<Item = usize> {
        let aggregates = self.aggregates.iter();
        aggregates.filter_map(|aggregate| aggregate.states.longest_list())
    }

    /// Grows to `slots` slots, all of them in use. Never shrinks.
    pub fn resize(&mut self, slots: usize) {
        self.grow(slots);
        self.used = self.used.max(slots);
    }

    fn grow(&mut self, slots: usize) {
        if slots > self.slots {
            for aggregate in &mut self.aggregates {
                aggregate.states.resize(slots);
            }
            self.slots = slots;
        }
    }

    /// Number of slots that were allocated, including released ones.
    pub fn len(&self) -> usize {
        self.used
    }

    /// A slot that is not in use; it holds the identity.
    ///
    /// # Errors
    ///
    /// There are more windows than slots have numbers.
    pub fn allocate(&mut self) -> Result<Slot> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let slot = Slot::of(self.used)?;
        if self.used == self.slots {
            self.grow((2 * self.slots).max(64));
        }
        self.used += 1;
        Ok(slot)
    }

    /// Gives a slot back, once; its states are cleared.
    pub fn release(&mut self, slot: Slot) {
        self.clear(slot);
        self.free.push(slot);
    }

    /// Lifts each row and combines it into its slot. `inputs` are the columns that the aggregates
    /// take; in a cogroup the last one is the input of each row.
    ///
    /// # Errors
    ///
    /// A column is missing, too short, or not of the kind that an aggregate takes.
    pub fn update(
        &mut self,
        slots: &[Slot],
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
    ) -> Result<()> {
        let mut selections = Selections::new(0..slots.len(), times, seq_nos, inputs);
        let rows = InputRows::new(slots.len(), times, seq_nos, inputs)?;
        let mut aggregates = self.aggregates.iter_mut();
        aggregates.try_for_each(|aggregate| aggregate.update(slots, rows, &mut selections))
    }

    /// Lifts one row and combines it into a slot.
    pub fn lift(
        &mut self,
        slot: Slot,
        row: usize,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
    ) -> Result<()> {
        let rows = InputRows::new(row + 1, times, seq_nos, inputs)?;
        let mut aggregates = self.aggregates.iter_mut();
        aggregates.try_for_each(|aggregate| aggregate.lift(slot, row, rows))
    }

    /// Combines states `from[i]` of `other` into slot `into[i]`.
    ///
    /// # Errors
    ///
    /// `other` has other aggregates, or `into` and `from` differ in length.
    pub fn merge(&mut self, into: &[Slot], other: &Self, from: &[Slot]) -> Result<()> {
        if self.aggregates.len() != other.aggregates.len() {
            return Err(Error::Internal("states of different queries are merged"));
        }
        if into.len() != from.len() {
            return Err(Error::Internal("a state has no slot to merge into"));
        }
        for (aggregate, other) in self.aggregates.iter_mut().zip(&other.aggregates) {
            aggregate.states.merge(into, other.states.as_ref(), from)?;
        }
        self.unknown.merge(into, &other.unknown, from);
        Ok(())
    }

    /// The same for `other` with more aggregates: `of` has the place of each of these in it.
    pub fn merge_from(
        &mut self,
        into: &[Slot],
        other: &Self,
        of: &[usize],
        from: &[Slot],
    ) -> Result<()> {
        if into.len() != from.len() || self.aggregates.len() != of.len() {
            return Err(Error::Internal("a state has nothing to merge with"));
        }
        for (aggregate, &place) in self.aggregates.iter_mut().zip(of) {
            let other = other.aggregates.get(place);
            let other = other.ok_or(Error::Internal("states of different queries are merged"))?;
            aggregate.states.merge(into, other.states.as_ref(), from)?;
        }
        Ok(())
    }

    /// Adds the rows of slot `from` to slot `into`, after its own.
    pub fn absorb(&mut self, into: Slot, from: Slot) {
        for aggregate in &mut self.aggregates {
            aggregate.states.absorb(into, from);
        }
        self.unknown.absorb(into, from);
    }

    /// Overwrites slot `to` with a copy of slot `from`.
    pub fn copy(&mut self, to: Slot, from: Slot) {
        for aggregate in &mut self.aggregates {
            aggregate.states.copy(to, from);
        }
        self.unknown.copy(to, from);
    }

    /// Puts the identity back into a slot.
    pub fn clear(&mut self, slot: Slot) {
        for aggregate in &mut self.aggregates {
            aggregate.states.clear(slot);
        }
        self.unknown.clear(slot);
    }

    /// The results of `slots`: a column per aggregate, one row per slot.
    ///
    /// # Errors
    ///
    /// [`Error::ResultOverflow`] names the first aggregate with a result that does not fit, unless
    /// such results are null.
    pub fn lower(&self, slots: &[Slot]) -> Result<WindowResults> {
        let mut results = WindowResults::default();
        for (position, aggregate) in self.aggregates.iter().enumerate() {
            let lower = |range: Range<usize>| {
                let slots = slots.get(range).unwrap_or_default();
                aggregate.states.lower(slots)
            };
            results
                .add(self.overflow, slots.len(), lower)
                .map_err(|error| of_aggregate(error, position))?;
        }
        for (position, column) in results.columns.iter_mut().enumerate() {
            self.unknown.hide(position, slots, column)?;
        }
        Ok(results)
    }

    /// The results that are unknown. Functions of the user follow the aggregates here.
    pub(crate) fn unknown(&self) -> &UnknownResults {
        &self.unknown
    }

    /// The number of state columns of each aggregate.
    pub(crate) fn widths(&self) -> impl ExactSizeIterator<Item = usize> {
        let aggregates = self.aggregates.iter();
        aggregates.map(BoundAggregate::width)
    }

    /// The states of `slots`: the columns of the first aggregate, then those of the next, one row
    /// per slot. Where results are unknown, a column that says which of them follows.
    pub fn save(&self, slots: &[Slot]) -> Vec<ArrayRef> {
        let aggregates = self.aggregates.iter();
        let states = aggregates.flat_map(|aggregate| aggregate.states.save(slots));
        states.chain(self.unknown.save(slots)).collect()
    }

    /// Reads what `save` wrote: one slot per row, all in use.
    ///
    /// # Errors
    ///
    /// The columns are not what `save` writes.
    pub fn load(&self, states: &[ArrayRef]) -> Result<Self> {
        let slots = common_len(states)?;
        let mut rest = states;
        let mut aggregates = Vec::with_capacity(self.aggregates.len());
        for aggregate in &self.aggregates {
            let (aggregate, others) = aggregate.load(rest)?;
            aggregates.push(aggregate);
            rest = others;
        }
        let unknown = match rest {
            [] => UnknownResults::default(),
            [unknown] => UnknownResults::load(unknown)?,
            _ => return Err(Error::Internal("there are too many state columns")),
        };
        Ok(Self {
            unknown,
            slots,
            used: slots,
            ..Self::of(aggregates, self.overflow)
        })
    }

    /// The total size of the lists that [`Self::sweep`] makes of these.
    pub fn list_values(
        &self,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
        spans: &[RowSpan],
        interrupt: &Interrupt,
    ) -> Result<ListValues> {
        let mut all = ListValues::default();
        self.over_spans(
            times,
            seq_nos,
            inputs,
            spans,
            interrupt,
            |aggregate, rows, spans| {
                all += aggregate.list_values(rows, spans)?;
                Ok(())
            },
        )?;
        Ok(all)
    }

    /// The results of sliding windows over rows sorted by (key, time, arrival): a column per
    /// aggregate, one row per span.
    ///
    /// # Errors
    ///
    /// As [`Self::lower`], a missing column, and the errors of the interrupt.
    pub fn sweep(
        &self,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
        spans: &[RowSpan],
        interrupt: &Interrupt,
    ) -> Result<WindowResults> {
        let mut results = WindowResults::default();
        self.over_spans(
            times,
            seq_nos,
            inputs,
            spans,
            interrupt,
            |aggregate, rows, spans| {
                let sweep = |range: Range<usize>| {
                    let some = spans.get(range).unwrap_or_default();
                    aggregate.sweep(rows, spans.with(some))
                };
                results.add(self.overflow, spans.len(), sweep)
            },
        )?;
        Ok(results)
    }

    /// Runs `work` for each aggregate over spans of the rows that it sees.
    fn over_spans<T>(
        &self,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
        spans: &[RowSpan],
        interrupt: &Interrupt,
        mut work: impl FnMut(&dyn Aggregate, InputRows<'_>, RowSpans<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let selected = spanned(spans);
        let mut selections = Selections::new(selected.clone(), times, seq_nos, inputs);
        let rows = InputRows::new(selected.end, times, seq_nos, inputs)?;
        let aggregates = self.aggregates.iter().enumerate();
        let results = aggregates.map(|(position, aggregate)| {
            let spans = RowSpans::new(spans, interrupt);
            let result = aggregate.over_spans(rows, &mut selections, spans, &mut work);
            interrupt.check()?;
            result.map_err(|error| of_aggregate(error, position))
        });
        results.collect()
    }
}
