//! `count()` and `count(column)`: rows, or rows that hold a value.

use super::column::{Column, Values};
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, Run, counts_of, of_kind, sweep};
use crate::error::{Error, Result};

/// State: how many. With an input column, nulls do not count.
#[derive(Clone, Debug, Default)]
pub struct Count {
    counts: PerSlot<i64>,
}

impl Aggregate for Count {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::default())
    }

    fn resize(&mut self, slots: usize) {
        self.counts.resize(slots, 0);
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        match rows
            .inputs
            .first()
            .and_then(|column| column.validity.as_ref())
        {
            None => slots.iter().for_each(|&slot| self.counts[slot] += 1),
            Some(validity) => {
                for (row, &slot) in slots.iter().enumerate() {
                    self.counts[slot] += i64::from(validity.is_valid(row));
                }
            }
        }
        Ok(())
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        self.counts[slot] += i64::from(
            rows.inputs
                .first()
                .is_none_or(|column| column.is_valid(row)),
        );
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            self.counts[into] += other.counts[from];
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.counts[to] = self.counts[from];
    }

    fn clear(&mut self, slot: Slot) {
        self.counts[slot] = 0;
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        let counts: Vec<i64> = slots.iter().map(|&slot| self.counts[slot]).collect();
        Ok(Column::new(Values::Int(counts.into())))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let counts: Vec<i64> = slots.iter().map(|&slot| self.counts[slot]).collect();
        vec![Column::new(Values::Int(counts.into()))]
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let [counts] = states else {
            return Err(Error::Internal("count has one state column"));
        };
        Ok(Box::new(Self {
            counts: PerSlot(counts_of(counts)?),
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let mut counts = Vec::with_capacity(runs.len());
        match rows
            .inputs
            .first()
            .and_then(|column| column.validity.as_ref())
        {
            None => counts.extend(
                runs.iter()
                    .map(|run| i64::from(run.to.saturating_sub(run.from))),
            ),
            Some(validity) => sweep::running(
                runs,
                &mut 0_i64,
                |count, row| *count += i64::from(validity.is_valid(row)),
                |count, row| *count -= i64::from(validity.is_valid(row)),
                |&count| counts.push(count),
            ),
        }
        Ok(Column::new(Values::Int(counts.into())))
    }
}
