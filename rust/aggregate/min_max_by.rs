//! `min_by(value, by)` and `max_by(value, by)`: the value of the row where `by` is least or
//! greatest.
//!
//! Rows whose `by` is null do not count; ties of `by` go to the earliest row by (time, arrival).
//! The value itself may be null. Null over no rows; NaN is the largest float, as in Spark.

use std::cmp::Ordering;

use super::chosen_row::ChosenRow;
use super::column::Column;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, RowPosition, Run, common_len, of_kind, sweep};
use crate::error::{Error, Result};

/// State: the chosen row so far, if any. `MAX` chooses which end of `by`.
#[derive(Clone, Debug)]
pub struct MinMaxBy<V: Scalar, B: Scalar, const MAX: bool> {
    chosen: PerSlot<Option<Chosen<V, B>>>,
}

/// `min_by(value, by)`.
pub type MinBy<V, B> = MinMaxBy<V, B, false>;
/// `max_by(value, by)`.
pub type MaxBy<V, B> = MinMaxBy<V, B, true>;

#[derive(Clone, Debug)]
struct Chosen<V, B> {
    by: B,
    held: ChosenRow<V>,
}

impl<V: Scalar, B: Scalar, const MAX: bool> Default for MinMaxBy<V, B, MAX> {
    fn default() -> Self {
        Self {
            chosen: PerSlot(Vec::new()),
        }
    }
}

impl<V: Scalar, B: Scalar, const MAX: bool> MinMaxBy<V, B, MAX> {
    /// How a row's `by` compares to another's: `Less` is preferred.
    #[inline]
    fn rank(left: B::Ref<'_>, right: B::Ref<'_>) -> Ordering {
        if MAX {
            B::compare(left, right).reverse()
        } else {
            B::compare(left, right)
        }
    }

    #[inline]
    fn offer(
        chosen: &mut Option<Chosen<V, B>>,
        by: B::Ref<'_>,
        place: RowPosition,
        value: Option<V::Ref<'_>>,
    ) {
        match chosen {
            Some(old) => {
                if Self::rank(by, old.by.get())
                    .then(place.cmp(&old.held.place))
                    .is_lt()
                {
                    old.by.set(by);
                    old.held.set(place, value);
                }
            }
            None => {
                *chosen = Some(Chosen {
                    by: B::holding(by),
                    held: ChosenRow::new(place, value),
                })
            }
        }
    }
}

impl<V: Scalar, B: Scalar, const MAX: bool> Aggregate for MinMaxBy<V, B, MAX> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::default())
    }

    fn resize(&mut self, slots: usize) {
        self.chosen.resize(slots, None);
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [value, by] = rows.inputs else {
            return Err(Error::Internal("min_by and max_by take two columns"));
        };
        let (values, keys) = (V::view(value)?, B::view(by)?);
        for (row, &slot) in slots.iter().enumerate() {
            if by.is_valid(row) {
                let value = value.is_valid(row).then(|| V::at(values, row));
                Self::offer(
                    &mut self.chosen[slot],
                    B::at(keys, row),
                    rows.place(row),
                    value,
                );
            }
        }
        Ok(())
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [value, by] = rows.inputs else {
            return Err(Error::Internal("min_by and max_by take two columns"));
        };
        if let Some(by) = B::read(by, row)? {
            Self::offer(
                &mut self.chosen[slot],
                by,
                rows.place(row),
                V::read(value, row)?,
            );
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            if let Some(Chosen { by, held }) = &other.chosen[from] {
                Self::offer(&mut self.chosen[into], by.get(), held.place, held.get());
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.chosen[to] = self.chosen[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.chosen[slot] = None;
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        Ok(V::column(
            slots
                .iter()
                .map(|&slot| self.chosen[slot].as_ref()?.held.get()),
        ))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let chosen = slots.iter().map(|&slot| self.chosen[slot].as_ref());
        let mut columns = vec![B::column(
            chosen.clone().map(|chosen| Some(chosen?.by.get())),
        )];
        columns.extend(ChosenRow::save(chosen.map(|chosen| Some(&chosen?.held))));
        columns
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let Some((by, held)) = states.split_first() else {
            return Err(Error::Internal("min_by and max_by have state columns"));
        };
        common_len(states)?;
        let keys = B::view(by)?;
        let held = ChosenRow::load(held)?.into_iter().enumerate();
        let chosen = held
            .map(|(row, held)| {
                Some(Chosen {
                    by: B::holding(B::at(keys, row)),
                    held: held?,
                })
            })
            .collect();
        Ok(Box::new(Self {
            chosen: PerSlot(chosen),
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [value, by] = rows.inputs else {
            return Err(Error::Internal("min_by and max_by take two columns"));
        };
        let keys = B::view(by)?;
        let mut chosen: Vec<Option<usize>> = Vec::with_capacity(runs.len());
        sweep::choose(
            runs,
            |row| by.is_valid(row),
            |new, old| Self::rank(B::at(keys, new), B::at(keys, old)).is_lt(),
            |row| chosen.push(row),
        );
        sweep::pick::<V>(value, chosen)
    }
}
