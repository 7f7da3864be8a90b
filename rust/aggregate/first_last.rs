//! `first(column)` and `last(column)`: the value of the earliest or latest row by event time, ties
//! by arrival. `any_value` is `first`.
//!
//! ```text
//!   time    1    1    2    5
//!   value   -    a    b    -          first: -   last: -     ignoring nulls, first: a   last: b
//! ```

use super::chosen_row::ChosenRow;
use super::column::Column;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, RowPosition, Run, of_kind, sweep};
use crate::error::{Error, Result};

/// State: the row at the edge so far, if any. `LAST` chooses which edge.
#[derive(Clone, Debug)]
pub struct FirstLast<V: Scalar, const LAST: bool> {
    held: PerSlot<Option<ChosenRow<V>>>,
    ignore_nulls: bool,
}

/// `first(column)`.
pub type First<V> = FirstLast<V, false>;
/// `last(column)`.
pub type Last<V> = FirstLast<V, true>;

impl<V: Scalar, const LAST: bool> FirstLast<V, LAST> {
    /// The first or last row; with `ignore_nulls`, the first or last that holds a value.
    pub fn new(ignore_nulls: bool) -> Self {
        Self {
            held: PerSlot(Vec::new()),
            ignore_nulls,
        }
    }

    #[inline]
    fn offer(held: &mut Option<ChosenRow<V>>, place: RowPosition, value: Option<V::Ref<'_>>) {
        match held {
            Some(held)
                if if LAST {
                    place <= held.place
                } else {
                    place >= held.place
                } => {}
            Some(held) => held.set(place, value),
            None => *held = Some(ChosenRow::new(place, value)),
        }
    }

    /// The first row of each run that holds a value.
    fn first_valid(column: &Column<'_>, runs: &[Run]) -> Vec<Option<usize>> {
        let mut next = 0;
        let chosen = runs.iter().map(|run| {
            next = next.max(run.from);
            while next < run.to && !column.is_valid(next as usize) {
                next += 1;
            }
            (next < run.to).then_some(next as usize)
        });
        chosen.collect()
    }

    /// The last row of each run that holds a value.
    fn last_valid(column: &Column<'_>, runs: &[Run]) -> Vec<Option<usize>> {
        let (mut right, mut last) = (0, None);
        let chosen = runs.iter().map(|run| {
            last = (right.max(run.from)..run.to)
                .rev()
                .find(|&row| column.is_valid(row as usize))
                .or(last);
            right = right.max(run.to);
            last.filter(|&last| last >= run.from)
                .map(|last| last as usize)
        });
        chosen.collect()
    }
}

impl<V: Scalar, const LAST: bool> Aggregate for FirstLast<V, LAST> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::new(self.ignore_nulls))
    }

    fn resize(&mut self, slots: usize) {
        self.held.resize(slots, None);
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("first and last take one column"));
        };
        let values = V::view(column)?;
        for (row, &slot) in slots.iter().enumerate() {
            let value = column.is_valid(row).then(|| V::at(values, row));
            if value.is_some() || !self.ignore_nulls {
                Self::offer(&mut self.held[slot], rows.place(row), value);
            }
        }
        Ok(())
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("first and last take one column"));
        };
        let value = V::read(column, row)?;
        if value.is_some() || !self.ignore_nulls {
            Self::offer(&mut self.held[slot], rows.place(row), value);
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            if let Some(held) = &other.held[from] {
                Self::offer(&mut self.held[into], held.place, held.get());
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.held[to] = self.held[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.held[slot] = None;
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        Ok(V::column(
            slots.iter().map(|&slot| self.held[slot].as_ref()?.get()),
        ))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        ChosenRow::save(slots.iter().map(|&slot| self.held[slot].as_ref())).into()
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(Self {
            held: PerSlot(ChosenRow::load(states)?),
            ignore_nulls: self.ignore_nulls,
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("first and last take one column"));
        };
        let chosen = match (self.ignore_nulls, LAST) {
            (true, false) => Self::first_valid(column, runs),
            (true, true) => Self::last_valid(column, runs),
            (false, _) => {
                let edge = |run: &Run| {
                    if LAST {
                        run.to as usize - 1
                    } else {
                        run.from as usize
                    }
                };
                runs.iter()
                    .map(|run| (run.from < run.to).then(|| edge(run)))
                    .collect()
            }
        };
        sweep::pick::<V>(column, chosen)
    }
}
