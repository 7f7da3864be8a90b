//! `sum(column)`: null over no values; a result that does not fit is an error, as in ANSI SQL.

use super::column::{Column, Values};
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::total::{Lower, Summable, Total};
use super::{Aggregate, InputRows, Run, common_len, of_kind, overflow, sweep};
use crate::error::{Error, Result};

/// State: the total, and whether a value was seen.
#[derive(Clone, Debug)]
pub struct Sum<V: Summable> {
    sums: PerSlot<Summed<V::Total>>,
    limit: i128,
}

/// A total, and whether a value is in it.
#[derive(Clone, Copy, Debug, Default)]
struct Summed<T> {
    total: T,
    seen: bool,
}

impl<V: Summable> Sum<V> {
    /// A sum whose result is below `limit` in size; only decimals (`i128`) mind the limit.
    pub fn new(limit: i128) -> Self {
        Self {
            sums: PerSlot(Vec::new()),
            limit,
        }
    }
}

impl<V: Lower> Sum<V> {
    fn results(&self, states: impl Iterator<Item = (V::Total, bool)>) -> Result<Column<'static>> {
        let mut results = Vec::with_capacity(states.size_hint().0);
        for (window, (total, seen)) in states.enumerate() {
            let result = V::exact(total, self.limit)
                .ok_or_else(|| overflow(window, "the sum does not fit the result type"))?;
            results.push(seen.then_some(result));
        }
        Ok(V::column(results.into_iter()))
    }
}

impl<V: Lower> Aggregate for Sum<V> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::new(self.limit))
    }

    fn resize(&mut self, slots: usize) {
        self.sums.resize(slots, Summed::default());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("sum takes one column"));
        };
        V::visit(column, slots, |slot, value| {
            let sum = &mut self.sums[slot];
            sum.total.add(value);
            sum.seen = true;
        })
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("sum takes one column"));
        };
        if let Some(value) = V::read(column, row)? {
            let sum = &mut self.sums[slot];
            sum.total.add(value);
            sum.seen = true;
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            let (sum, other) = (&mut self.sums[into], &other.sums[from]);
            sum.total.merge(&other.total);
            sum.seen |= other.seen;
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.sums[to] = self.sums[from];
    }

    fn clear(&mut self, slot: Slot) {
        self.sums[slot] = Summed::default();
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        self.results(
            slots
                .iter()
                .map(|&slot| (self.sums[slot].total, self.sums[slot].seen)),
        )
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let seen = slots
            .iter()
            .map(|&slot| i64::from(self.sums[slot].seen))
            .collect();
        let mut columns = V::Total::save(slots.iter().map(|&slot| self.sums[slot].total));
        columns.push(Column::new(Values::Int(seen)));
        columns
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let Some((seen, totals)) = states.split_last() else {
            return Err(Error::Internal("sum has state columns"));
        };
        common_len(states)?;
        let states = V::Total::load(totals)?.into_iter().zip(i64::view(seen)?);
        let sums = states
            .map(|(total, &seen)| Summed {
                total,
                seen: seen != 0,
            })
            .collect();
        Ok(Box::new(Self {
            sums: PerSlot(sums),
            limit: self.limit,
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("sum takes one column"));
        };
        let values = V::view(column)?;
        let mut states = Vec::with_capacity(runs.len());
        sweep::totals(
            column,
            |row| V::at(values, row),
            runs,
            |total, count| states.push((total, count > 0)),
        );
        self.results(states.into_iter())
    }
}
