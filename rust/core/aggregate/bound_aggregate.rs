//! One aggregate of a query, bound to the input columns that it takes and to the rows that it sees.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::row_filter::{RowFilter, Selections};
use super::row_spans::RowSpans;
use super::slot::Slot;
use super::{Aggregate, InputRows};
use crate::core::error::{Error, Result};

/// The states of an aggregate with its columns and rows. The rows that its methods take have all
/// input columns of the query.
pub(super) struct BoundAggregate {
    /// The states.
    pub states: Box<dyn Aggregate>,
    arguments: Range<usize>,
    filter: RowFilter,
    state_columns: usize,
}

impl BoundAggregate {
    /// Binds an aggregate without slots.
    pub(super) fn new(
        (states, arguments, filter): (Box<dyn Aggregate>, Range<usize>, RowFilter),
    ) -> Self {
        Self {
            state_columns: states.save(&[]).len(),
            states,
            arguments,
            filter,
        }
    }

    /// The number of its state columns.
    pub(super) fn width(&self) -> usize {
        self.state_columns
    }

    /// The same aggregate, without slots.
    pub(super) fn fresh(&self) -> Self {
        self.with(self.states.fresh())
    }

    fn with(&self, states: Box<dyn Aggregate>) -> Self {
        Self {
            states,
            arguments: self.arguments.clone(),
            ..*self
        }
    }

    /// The rows with the columns that the aggregate takes.
    fn arguments<'a>(&self, rows: InputRows<'a>) -> Result<InputRows<'a>> {
        let inputs = rows.inputs.get(self.arguments.clone());
        Ok(InputRows {
            inputs: inputs.ok_or(Error::Internal("an aggregate takes a missing column"))?,
            ..rows
        })
    }

    /// Lifts each row that it sees and combines it into its slot.
    pub(super) fn update(
        &mut self,
        slots: &[Slot],
        rows: InputRows<'_>,
        selections: &mut Selections<'_>,
    ) -> Result<()> {
        let rows = self.arguments(rows)?;
        match selections.get(self.filter)? {
            Some(selection) if selection.is_empty() => Ok(()),
            Some(selection) if !selection.is_all() => {
                let (slots, columns) = (selection.select(slots)?, selection.columns(rows.inputs)?);
                self.states.update(&slots, selection.rows(&columns))
            }
            _ => self.states.update(slots, rows),
        }
    }

    /// Lifts one row, if it sees it, and combines it into a slot.
    pub(super) fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        if self.filter.takes(row, rows.inputs)? {
            self.states.lift(slot, row, self.arguments(rows)?)
        } else {
            Ok(())
        }
    }

    /// Runs `work` over spans of the rows that it sees.
    pub(super) fn over_spans<T>(
        &self,
        rows: InputRows<'_>,
        selections: &mut Selections<'_>,
        spans: RowSpans<'_>,
        mut work: impl FnMut(&dyn Aggregate, InputRows<'_>, RowSpans<'_>) -> Result<T>,
    ) -> Result<T> {
        let (rows, states) = (self.arguments(rows)?, self.states.as_ref());
        match selections.get(self.filter)? {
            Some(selection) if !selection.is_all() => {
                let (columns, own) = (selection.columns(rows.inputs)?, selection.spans(&spans));
                work(states, selection.rows(&columns), spans.with(&own))
            }
            _ => work(states, rows, spans),
        }
    }

    /// Reads its state columns, which are the first of `columns`: the aggregate with one slot per row,
    /// and the rest of the columns.
    pub(super) fn load<'b>(&self, columns: &'b [ArrayRef]) -> Result<(Self, &'b [ArrayRef])> {
        let (own, others) = columns
            .split_at_checked(self.state_columns)
            .ok_or(Error::Internal("state columns are missing"))?;
        Ok((self.with(self.states.load(own)?), others))
    }
}
