//! One aggregate of a query with its arguments: which of the input columns it takes, and which rows
//! it sees.

use std::ops::Range;

use super::column::Column;
use super::row_filter::{RowFilter, Selections};
use super::row_spans::RowSpans;
use super::slot::Slot;
use super::{Aggregate, InputRows};
use crate::core::error::{Error, Result};

/// An aggregate with its arguments. The rows that its methods take have all input columns of the
/// query.
pub(super) struct AggregateCall {
    /// The states.
    pub aggregate: Box<dyn Aggregate>,
    arguments: Range<usize>,
    filter: RowFilter,
    state_columns: usize,
}

impl AggregateCall {
    /// Of an aggregate without slots.
    pub fn new(
        (aggregate, arguments, filter): (Box<dyn Aggregate>, Range<usize>, RowFilter),
    ) -> Self {
        Self {
            state_columns: aggregate.save(&[]).len(),
            aggregate,
            arguments,
            filter,
        }
    }

    /// The same call, without slots.
    pub fn fresh(&self) -> Self {
        self.with(self.aggregate.fresh())
    }

    fn with(&self, aggregate: Box<dyn Aggregate>) -> Self {
        Self {
            aggregate,
            arguments: self.arguments.clone(),
            ..*self
        }
    }

    /// The rows with the columns that the aggregate takes.
    fn arguments<'a>(&self, rows: InputRows<'a>) -> Result<InputRows<'a>> {
        let inputs = rows.inputs.get(self.arguments.clone());
        Ok(InputRows {
            inputs: inputs.ok_or(Error::Internal(
                "an aggregate takes a column that is not there",
            ))?,
            ..rows
        })
    }

    /// Lifts each row that it sees and combines it into its slot.
    pub fn update(
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
                self.aggregate.update(&slots, selection.rows(&columns))
            }
            _ => self.aggregate.update(slots, rows),
        }
    }

    /// Lifts one row, if it sees it, and combines it into a slot.
    pub fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        if self.filter.takes(row, rows.inputs)? {
            self.aggregate.lift(slot, row, self.arguments(rows)?)
        } else {
            Ok(())
        }
    }

    /// What work makes of runs of the rows that it sees.
    pub fn over_runs<T>(
        &self,
        rows: InputRows<'_>,
        selections: &mut Selections<'_>,
        runs: RowSpans<'_>,
        mut work: impl FnMut(&dyn Aggregate, InputRows<'_>, RowSpans<'_>) -> Result<T>,
    ) -> Result<T> {
        let (rows, aggregate) = (self.arguments(rows)?, self.aggregate.as_ref());
        match selections.get(self.filter)? {
            Some(selection) if !selection.is_all() => {
                let (columns, own) = (selection.columns(rows.inputs)?, selection.runs(&runs));
                work(aggregate, selection.rows(&columns), runs.with(&own))
            }
            _ => work(aggregate, rows, runs),
        }
    }

    /// Reads its state columns, the first of `columns`: the call with one slot per row, and the
    /// columns of others.
    pub fn load<'b, 'a>(&self, columns: &'b [Column<'a>]) -> Result<(Self, &'b [Column<'a>])> {
        let (own, others) = columns
            .split_at_checked(self.state_columns)
            .ok_or(Error::Internal("state columns are missing"))?;
        Ok((self.with(self.aggregate.load(own)?), others))
    }
}
