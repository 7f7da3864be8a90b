//! `collect_list(column)`: all values that are not null, by event time, ties by arrival; an empty
//! list over no values, as in Spark.

use super::column::Column;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, RowPosition, Run, columns_of, of_kind};
use crate::error::{Error, Result};
use crate::time::Time;

/// State: values and where their rows stand, in any order; sorted when they leave.
#[derive(Clone, Debug)]
pub struct CollectList<V: Scalar> {
    lists: PerSlot<Vec<Item<V>>>,
}

#[derive(Clone, Debug)]
struct Item<V> {
    place: RowPosition,
    value: V,
}

impl<V: Scalar> Default for CollectList<V> {
    fn default() -> Self {
        Self {
            lists: PerSlot(Vec::new()),
        }
    }
}

impl<V: Scalar> CollectList<V> {
    /// The items of `slots`, list after list, each sorted; and where each list starts.
    fn sorted(&self, slots: &[Slot]) -> (Vec<i64>, Vec<&Item<V>>) {
        let (mut offsets, mut items) = (vec![0], Vec::new());
        for &slot in slots {
            let start = items.len();
            items.extend(&self.lists[slot]);
            if let Some(list) = items.get_mut(start..) {
                // Runs of sorted items, as merging leaves them, are found by the sort.
                list.sort_by_key(|item| item.place);
            }
            offsets.push(items.len() as i64);
        }
        (offsets, items)
    }

    fn values(items: &[&Item<V>]) -> Column<'static> {
        V::column(items.iter().map(|item| Some(item.value.get())))
    }
}

impl<V: Scalar> Aggregate for CollectList<V> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::default())
    }

    fn gathers(&self) -> bool {
        true
    }

    fn resize(&mut self, slots: usize) {
        self.lists.resize(slots, Vec::new());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("collect_list takes one column"));
        };
        let values = V::view(column)?;
        for (row, &slot) in slots.iter().enumerate() {
            if column.is_valid(row) {
                self.lists[slot].push(Item {
                    place: rows.place(row),
                    value: V::holding(V::at(values, row)),
                });
            }
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            self.lists[into].extend_from_slice(&other.lists[from]);
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.lists[to] = self.lists[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.lists[slot] = Vec::new();
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        let (offsets, items) = self.sorted(slots);
        Ok(Column::list(offsets, Self::values(&items)))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let (offsets, items) = self.sorted(slots);
        let times = i64::column(items.iter().map(|item| Some(item.place.0.0)));
        let seq_nos = i64::column(items.iter().map(|item| Some(item.place.1 as i64)));
        vec![
            Column::list(offsets.clone(), times),
            Column::list(offsets.clone(), seq_nos),
            Column::list(offsets, Self::values(&items)),
        ]
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let ([times, seq_nos, values], len) = columns_of(states)?;
        let (times, seq_nos, values) = (times.lists()?, seq_nos.lists()?, values.lists()?);
        let (ticks, orders, view) = (
            i64::view(times.elements)?,
            i64::view(seq_nos.elements)?,
            V::view(values.elements)?,
        );
        let mut lists = Vec::with_capacity(len);
        for row in 0..len {
            let (times, seq_nos, values) =
                (times.range(row), seq_nos.range(row), values.range(row));
            if times.len() != values.len() || seq_nos.len() != values.len() {
                return Err(Error::Internal(
                    "the lists of a collect_list's state differ in length",
                ));
            }
            let items = times
                .zip(seq_nos)
                .zip(values)
                .map(|((time, seq_no), value)| Item {
                    place: (Time(i64::at(ticks, time)), i64::at(orders, seq_no) as u64),
                    value: V::holding(V::at(view, value)),
                });
            lists.push(items.collect());
        }
        Ok(Box::new(Self {
            lists: PerSlot(lists),
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("collect_list takes one column"));
        };
        let values = V::view(column)?;
        let (mut offsets, mut end) = (vec![0], 0);
        let chosen = runs.iter().flat_map(|run| {
            (run.from as usize..run.to as usize).filter(|&row| column.is_valid(row))
        });
        for run in runs {
            end += (run.from as usize..run.to as usize)
                .filter(|&row| column.is_valid(row))
                .count() as i64;
            offsets.push(end);
        }
        Ok(Column::list(
            offsets,
            V::column(chosen.map(|row| Some(V::at(values, row)))),
        ))
    }
}
