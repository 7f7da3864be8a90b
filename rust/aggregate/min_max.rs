//! `min(column)` and `max(column)`: null over no values; NaN is the largest float, as in Spark, and
//! of the two zeros -0.0 is the smaller, so that the answer does not depend on the order of rows.

use std::cmp::Ordering;

use super::column::Column;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, Run, of_kind, sweep};
use crate::error::{Error, Result};

/// State: the best value so far, if any. `MAX` chooses which end.
#[derive(Clone, Debug, Default)]
pub struct MinMax<V: Scalar, const MAX: bool> {
    best: PerSlot<Best<V>>,
}

/// The best value, and whether there is one.
#[derive(Clone, Debug, Default)]
struct Best<V> {
    value: V,
    seen: bool,
}

/// `min(column)`.
pub type Min<V> = MinMax<V, false>;
/// `max(column)`.
pub type Max<V> = MinMax<V, true>;

impl<V: Scalar, const MAX: bool> MinMax<V, MAX> {
    /// Whether a value replaces another.
    #[inline]
    fn beats(new: V::Ref<'_>, old: V::Ref<'_>) -> bool {
        V::compare_bits(new, old)
            == if MAX {
                Ordering::Greater
            } else {
                Ordering::Less
            }
    }

    #[inline]
    fn offer(&mut self, slot: Slot, value: V::Ref<'_>) {
        let best = &mut self.best[slot];
        // Without a branch: which of a session's values is the best so far cannot be predicted.
        best.value
            .set_if(!best.seen | Self::beats(value, best.value.get()), value);
        best.seen = true;
    }

    fn get(&self, slot: Slot) -> Option<V::Ref<'_>> {
        let best = &self.best[slot];
        best.seen.then(|| best.value.get())
    }

    fn column(&self, slots: &[Slot]) -> Column<'static> {
        V::column(slots.iter().map(|&slot| self.get(slot)))
    }
}

impl<V: Scalar, const MAX: bool> Aggregate for MinMax<V, MAX> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::default())
    }

    fn resize(&mut self, slots: usize) {
        self.best.resize(slots, Best::default());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("min and max take one column"));
        };
        V::visit(column, slots, |slot, value| self.offer(slot, value))
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("min and max take one column"));
        };
        if let Some(value) = V::read(column, row)? {
            self.offer(slot, value);
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            if let Some(value) = other.get(from) {
                self.offer(into, value);
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.best[to] = self.best[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.best[slot] = Best::default();
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        Ok(self.column(slots))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        vec![self.column(slots)]
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let [best] = states else {
            return Err(Error::Internal("min and max have one state column"));
        };
        let slots: Vec<Slot> = (0..best.len() as u32).map(Slot).collect();
        let mut loaded = Self::default();
        loaded.resize(slots.len());
        loaded.update(
            &slots,
            InputRows {
                times: &[],
                seq_nos: &[],
                inputs: std::slice::from_ref(best),
            },
        )?;
        Ok(Box::new(loaded))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("min and max take one column"));
        };
        let values = V::view(column)?;
        let mut chosen: Vec<Option<usize>> = Vec::with_capacity(runs.len());
        sweep::choose(
            runs,
            |row| column.is_valid(row),
            |new, old| !Self::beats(V::at(values, old), V::at(values, new)),
            |row| chosen.push(row),
        );
        sweep::pick::<V>(column, chosen)
    }
}
