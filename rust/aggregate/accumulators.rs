//! All aggregates of a query over shared slots: slot `s` is one window in every one of them.
//!
//! ```text
//!               slot 0   slot 1   slot 2   slot 3
//!   count         3        7        ·        1
//!   sum(x)       12        9        ·        4        slot 2 is free: released, not allocated again
//! ```
//!
//! In a cogroup an aggregate may see the rows of one input only; the last column then tells the
//! input of each row.

use std::ops::Range;

use super::column::Column;
use super::input_filter::{self, Origins};
use super::slot::Slot;
use super::{Aggregate, InputRows, Run, SeqNo, common_len};
use crate::error::{Error, Result};
use crate::time::Time;

/// The aggregates, and which slots are in use.
pub struct Accumulators {
    parts: Vec<Part>,
    /// Slots that hold states in every aggregate.
    slots: usize,
    /// Slots below this were handed out at least once.
    used: usize,
    free: Vec<Slot>,
}

/// An aggregate, which of the input columns it takes, whose rows alone it sees, and how many
/// columns its state has.
struct Part {
    aggregate: Box<dyn Aggregate>,
    inputs: Range<usize>,
    only: Option<u32>,
    width: usize,
}

impl Accumulators {
    /// A bank of empty aggregates, each with the range of the input columns that it takes.
    pub fn new(aggregates: impl IntoIterator<Item = (Box<dyn Aggregate>, Range<usize>)>) -> Self {
        Self::cogrouped(
            aggregates
                .into_iter()
                .map(|(aggregate, inputs)| (aggregate, inputs, None)),
        )
    }

    /// The same for a cogroup: each aggregate also with the input whose rows alone it sees, or none
    /// where it sees all.
    pub fn cogrouped(
        aggregates: impl IntoIterator<Item = (Box<dyn Aggregate>, Range<usize>, Option<u32>)>,
    ) -> Self {
        let part = |(aggregate, inputs, only): (Box<dyn Aggregate>, _, _)| Part {
            width: aggregate.save(&[]).len(),
            aggregate,
            inputs,
            only,
        };
        Self {
            parts: aggregates.into_iter().map(part).collect(),
            slots: 0,
            used: 0,
            free: Vec::new(),
        }
    }

    /// An empty bank of the same kind.
    pub fn fresh(&self) -> Self {
        Self::cogrouped(
            self.parts
                .iter()
                .map(|part| (part.aggregate.fresh(), part.inputs.clone(), part.only)),
        )
    }

    /// Whether results of a window grow with its rows.
    pub fn gathers(&self) -> bool {
        self.parts.iter().any(|part| part.aggregate.gathers())
    }

    /// Grows to `slots` slots, all of them in use. Never shrinks.
    pub fn resize(&mut self, slots: usize) {
        self.grow(slots);
        self.used = self.used.max(slots);
    }

    fn grow(&mut self, slots: usize) {
        if slots > self.slots {
            self.parts
                .iter_mut()
                .for_each(|part| part.aggregate.resize(slots));
            self.slots = slots;
        }
    }

    /// Number of slots that were handed out, released ones included.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether no slot was handed out.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// A slot that holds the identity and is nobody else's.
    pub fn allocate(&mut self) -> Result<Slot> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let slot = u32::try_from(self.used)
            .map(Slot)
            .map_err(|_| Error::Internal("more windows than slots"))?;
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

    /// Lifts each row and combines it into its slot. `inputs` are the columns that the aggregates'
    /// ranges speak of.
    pub fn update(
        &mut self,
        slots: &[Slot],
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[Column<'_>],
    ) -> Result<()> {
        let mut origins = Origins::new(0..slots.len(), times, seq_nos, inputs.last());
        for part in &mut self.parts {
            let columns = taken(inputs, &part.inputs)?;
            match part.only.map(|input| origins.of(input)).transpose()? {
                Some(own) if own.is_empty() => {}
                Some(own) if !own.is_all() => part
                    .aggregate
                    .update(&own.pick(slots), own.rows(&own.columns(columns)))?,
                _ => part.aggregate.update(
                    slots,
                    InputRows {
                        times,
                        seq_nos,
                        inputs: columns,
                    },
                )?,
            }
        }
        Ok(())
    }

    /// Lifts one row and combines it into a slot.
    pub fn lift(
        &mut self,
        slot: Slot,
        row: usize,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[Column<'_>],
    ) -> Result<()> {
        for part in &mut self.parts {
            if part.only.map_or(Ok(true), |input| {
                input_filter::is_of(input, row, inputs.last())
            })? {
                part.aggregate.lift(
                    slot,
                    row,
                    InputRows {
                        times,
                        seq_nos,
                        inputs: taken(inputs, &part.inputs)?,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Combines states `from[i]` of `other` into slot `into[i]`. `other` is of the same kind.
    pub fn merge(&mut self, into: &[Slot], other: &Self, from: &[Slot]) -> Result<()> {
        if self.parts.len() != other.parts.len() {
            return Err(Error::Internal(
                "states of different queries cannot be merged",
            ));
        }
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.aggregate.merge(into, other.aggregate.as_ref(), from)?;
        }
        Ok(())
    }

    /// Overwrites slot `to` with a copy of slot `from`.
    pub fn copy(&mut self, to: Slot, from: Slot) {
        self.parts
            .iter_mut()
            .for_each(|part| part.aggregate.copy(to, from));
    }

    /// Puts the identity back into a slot.
    pub fn clear(&mut self, slot: Slot) {
        self.parts
            .iter_mut()
            .for_each(|part| part.aggregate.clear(slot));
    }

    /// The results of `slots`: a column per aggregate, one row per slot.
    ///
    /// # Errors
    ///
    /// [`Error::ResultOverflow`] names the first aggregate with a result that does not fit.
    pub fn lower(&self, slots: &[Slot]) -> Result<Vec<Column<'static>>> {
        let columns = self.parts.iter().enumerate().map(|(position, part)| {
            let column = part.aggregate.lower(slots);
            column.map_err(|error| of_aggregate(error, position))
        });
        columns.collect()
    }

    /// The states of `slots`: the columns of the first aggregate, then those of the next, one row
    /// per slot.
    pub fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        self.parts
            .iter()
            .flat_map(|part| part.aggregate.save(slots))
            .collect()
    }

    /// Reads back what `save` wrote: a bank with one slot per row, all in use.
    pub fn load(&self, states: &[Column<'_>]) -> Result<Self> {
        let slots = common_len(states)?;
        let mut rest = states;
        let mut parts = Vec::with_capacity(self.parts.len());
        for Part {
            aggregate,
            inputs,
            only,
            width,
        } in &self.parts
        {
            let (own, others) = rest
                .split_at_checked(*width)
                .ok_or(Error::Internal("state columns are missing"))?;
            parts.push(Part {
                aggregate: aggregate.load(own)?,
                inputs: inputs.clone(),
                only: *only,
                width: *width,
            });
            rest = others;
        }
        if rest.is_empty() {
            Ok(Self {
                parts,
                slots,
                used: slots,
                free: Vec::new(),
            })
        } else {
            Err(Error::Internal(
                "there are more state columns than the aggregates have",
            ))
        }
    }

    /// The results of sliding windows over rows sorted by (key, time, arrival): a column per
    /// aggregate, one row per run.
    ///
    /// # Errors
    ///
    /// As [`Self::lower`], and where a column is missing.
    pub fn sweep(
        &self,
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[Column<'_>],
        runs: &[Run],
    ) -> Result<Vec<Column<'static>>> {
        let among = runs.first().map_or(0, |run| run.from as usize)
            ..runs.last().map_or(0, |run| run.to as usize);
        let mut origins = Origins::new(among, times, seq_nos, inputs.last());
        let mut columns = Vec::with_capacity(self.parts.len());
        for (position, part) in self.parts.iter().enumerate() {
            let taken = taken(inputs, &part.inputs)?;
            let column = match part.only.map(|input| origins.of(input)).transpose()? {
                Some(own) if !own.is_all() => part
                    .aggregate
                    .sweep(own.rows(&own.columns(taken)), &own.runs(runs)),
                _ => part.aggregate.sweep(
                    InputRows {
                        times,
                        seq_nos,
                        inputs: taken,
                    },
                    runs,
                ),
            };
            columns.push(column.map_err(|error| of_aggregate(error, position))?);
        }
        Ok(columns)
    }
}

/// An error of the aggregate at a position.
fn of_aggregate(error: Error, position: usize) -> Error {
    match error {
        Error::ResultOverflow { window, reason, .. } => Error::ResultOverflow {
            aggregate: position,
            window,
            reason,
        },
        other => other,
    }
}

/// The columns that an aggregate takes.
fn taken<'b, 'a>(inputs: &'b [Column<'a>], range: &Range<usize>) -> Result<&'b [Column<'a>]> {
    inputs.get(range.clone()).ok_or(Error::Internal(
        "an aggregate takes a column that is not there",
    ))
}
