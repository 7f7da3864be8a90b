//! `mean(column)`: null over no values; never overflows on the way.

use super::column::{Column, Values};
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::total::{Lower, Total};
use super::{Aggregate, InputRows, Run, common_len, counts_of, of_kind, overflow, sweep};
use crate::error::{Error, Result};

/// What a mean is given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanType {
    /// A float, whatever the values are: integers and floats, as in Spark.
    Float,
    /// The kind of the values, ties away from zero: decimals and durations, as in Spark.
    Rounded {
        /// What the mean is multiplied by before it is rounded: a power of ten where the result has
        /// more decimals.
        factor: i128,
        /// A decimal result is below this in size.
        limit: i128,
    },
}

/// State: the total and the number of values.
#[derive(Clone, Debug)]
pub struct Mean<V: Lower> {
    totals: PerSlot<V::Total>,
    counts: PerSlot<i64>,
    rule: MeanType,
}

impl<V: Lower> Mean<V> {
    /// A mean whose result follows `rule`.
    pub fn new(rule: MeanType) -> Self {
        Self {
            totals: PerSlot(Vec::new()),
            counts: PerSlot(Vec::new()),
            rule,
        }
    }

    fn results(&self, states: impl Iterator<Item = (V::Total, i64)>) -> Result<Column<'static>> {
        match self.rule {
            MeanType::Float => {
                Ok(f64::column(states.map(|(total, count)| {
                    (count > 0).then(|| V::float(total) / count as f64)
                })))
            }
            MeanType::Rounded { factor, limit } => {
                let mut results = Vec::with_capacity(states.size_hint().0);
                for (window, (total, count)) in states.enumerate() {
                    let mean = V::divided(total, factor, count, limit)
                        .ok_or_else(|| overflow(window, "the mean does not fit the result type"));
                    results.push(if count > 0 { Some(mean?) } else { None });
                }
                Ok(V::column(results.into_iter()))
            }
        }
    }
}

impl<V: Lower> Aggregate for Mean<V> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::new(self.rule))
    }

    fn resize(&mut self, slots: usize) {
        self.totals.resize(slots, V::Total::default());
        self.counts.resize(slots, 0);
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("mean takes one column"));
        };
        V::visit(column, slots, |slot, value| {
            self.totals[slot].add(value);
            self.counts[slot] += 1;
        })
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("mean takes one column"));
        };
        if let Some(value) = V::read(column, row)? {
            self.totals[slot].add(value);
            self.counts[slot] += 1;
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            self.totals[into].merge(&other.totals[from]);
            self.counts[into] += other.counts[from];
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.totals[to] = self.totals[from];
        self.counts[to] = self.counts[from];
    }

    fn clear(&mut self, slot: Slot) {
        self.totals[slot] = V::Total::default();
        self.counts[slot] = 0;
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        self.results(
            slots
                .iter()
                .map(|&slot| (self.totals[slot], self.counts[slot])),
        )
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let counts = slots.iter().map(|&slot| self.counts[slot]).collect();
        let mut columns = V::Total::save(slots.iter().map(|&slot| self.totals[slot]));
        columns.push(Column::new(Values::Int(counts)));
        columns
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let Some((counts, totals)) = states.split_last() else {
            return Err(Error::Internal("mean has state columns"));
        };
        common_len(states)?;
        Ok(Box::new(Self {
            totals: PerSlot(V::Total::load(totals)?),
            counts: PerSlot(counts_of(counts)?),
            rule: self.rule,
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("mean takes one column"));
        };
        let values = V::view(column)?;
        let mut states = Vec::with_capacity(runs.len());
        sweep::totals(
            column,
            |row| V::at(values, row),
            runs,
            |total, count| states.push((total, count)),
        );
        self.results(states.into_iter())
    }
}
