//! `collect_set(column)`: the distinct values that are not null, ascending, so that the answer does
//! not depend on the order of rows; an empty list over no values. The zeros are one value, 0.0, and
//! all NaNs are one.

use super::column::Column;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, Run, columns_of, of_kind, sweep};
use crate::error::{Error, Result};

/// State: the values.
#[derive(Clone, Debug)]
pub struct CollectSet<V: Scalar> {
    sets: PerSlot<Set<V>>,
}

/// Ascending values without repeats, and a tail of values that are not among them.
///
/// ```text
///   a  c  f  k  │  d  b  d          the tail is sorted in when it outgrows what is before it
///   0        sorted     len
/// ```
#[derive(Clone, Debug, Default)]
struct Set<V> {
    values: Vec<V>,
    sorted: usize,
}

impl<V: Scalar> Set<V> {
    /// Below this a tail is left as it is.
    const TAIL: usize = 8;

    fn insert(&mut self, value: V::Ref<'_>) {
        let sorted = self.values.get(..self.sorted).unwrap_or_default();
        let held = sorted
            .binary_search_by(|held| V::compare(held.get(), value))
            .is_ok()
            || self
                .values
                .last()
                .is_some_and(|held| V::compare(held.get(), value).is_eq());
        if !held {
            self.values.push(V::holding(value));
            if self.values.len() - self.sorted > self.sorted.max(Self::TAIL) {
                self.tidy();
            }
        }
    }

    fn tidy(&mut self) {
        self.values
            .sort_unstable_by(|left, right| V::compare(left.get(), right.get()));
        self.values
            .dedup_by(|left, right| V::compare(left.get(), right.get()).is_eq());
        self.sorted = self.values.len();
    }

    fn ascending(&self) -> Vec<V::Ref<'_>> {
        let mut values: Vec<V::Ref<'_>> = self.values.iter().map(V::get).collect();
        if self.sorted < values.len() {
            values.sort_unstable_by(|&left, &right| V::compare(left, right));
            values.dedup_by(|left, right| V::compare(*left, *right).is_eq());
        }
        values
    }
}

impl<V: Scalar> Default for CollectSet<V> {
    fn default() -> Self {
        Self {
            sets: PerSlot(Vec::new()),
        }
    }
}

impl<V: Scalar> CollectSet<V> {
    fn column(&self, slots: &[Slot]) -> Column<'static> {
        let (mut offsets, mut values) = (vec![0], Vec::new());
        for &slot in slots {
            values.extend(self.sets[slot].ascending());
            offsets.push(values.len() as i64);
        }
        Column::list(offsets, V::column(values.into_iter().map(Some)))
    }
}

/// Numbers the distinct values of a column in ascending order.
struct Codes {
    /// The number of each row's value; none where the row is null.
    of_row: Vec<Option<u32>>,
    /// One row that holds each value.
    row_of: Vec<usize>,
}

impl Codes {
    fn new<V: Scalar>(column: &Column<'_>) -> Result<Self> {
        let values = V::view(column)?;
        let mut rows: Vec<usize> = (0..column.len())
            .filter(|&row| column.is_valid(row))
            .collect();
        rows.sort_unstable_by(|&left, &right| {
            V::compare(V::at(values, left), V::at(values, right))
        });
        let mut codes = Self {
            of_row: vec![None; column.len()],
            row_of: Vec::new(),
        };
        for row in rows {
            let same = |&last: &usize| V::compare(V::at(values, last), V::at(values, row)).is_eq();
            if !codes.row_of.last().is_some_and(same) {
                codes.row_of.push(row);
            }
            if let Some(code) = codes.of_row.get_mut(row) {
                *code = Some(codes.row_of.len() as u32 - 1);
            }
        }
        Ok(codes)
    }
}

/// Which values stand in a window, and how often.
struct Present {
    /// How often each value stands in the window, by its code.
    counts: Vec<u32>,
    /// The codes that stand in it, ascending.
    codes: Vec<u32>,
}

impl Present {
    fn enter(&mut self, code: u32) {
        let Some(count) = self.counts.get_mut(code as usize) else {
            return;
        };
        *count += 1;
        if let (1, Err(place)) = (*count, self.codes.binary_search(&code)) {
            self.codes.insert(place, code);
        }
    }

    fn leave(&mut self, code: u32) {
        let Some(count) = self.counts.get_mut(code as usize) else {
            return;
        };
        *count -= 1;
        if let (0, Ok(place)) = (*count, self.codes.binary_search(&code)) {
            self.codes.remove(place);
        }
    }
}

impl<V: Scalar> Aggregate for CollectSet<V> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::default())
    }

    fn gathers(&self) -> bool {
        true
    }

    fn resize(&mut self, slots: usize) {
        self.sets.resize(slots, Set::default());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("collect_set takes one column"));
        };
        let values = V::view(column)?;
        for (row, &slot) in slots.iter().enumerate() {
            if column.is_valid(row) {
                self.sets[slot].insert(V::canonical(V::at(values, row)));
            }
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            let into = &mut self.sets[into];
            other.sets[from]
                .values
                .iter()
                .for_each(|value| into.insert(value.get()));
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.sets[to] = self.sets[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.sets[slot] = Set::default();
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        Ok(self.column(slots))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        vec![self.column(slots)]
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let ([lists], len) = columns_of(states)?;
        let lists = lists.lists()?;
        let view = V::view(lists.elements)?;
        let set = |row: usize| {
            let values = lists
                .range(row)
                .map(|element| V::holding(V::canonical(V::at(view, element))))
                .collect();
            let mut set = Set { values, sorted: 0 };
            set.tidy();
            set
        };
        Ok(Box::new(Self {
            sets: PerSlot((0..len).map(set).collect()),
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("collect_set takes one column"));
        };
        let values = V::view(column)?;
        let Codes { of_row, row_of } = Codes::new::<V>(column)?;
        let code = |row: usize| of_row.get(row).copied().flatten();
        let (mut offsets, mut codes) = (vec![0], Vec::new());
        sweep::running(
            runs,
            &mut Present {
                counts: vec![0; row_of.len()],
                codes: Vec::new(),
            },
            |present, row| code(row).into_iter().for_each(|code| present.enter(code)),
            |present, row| code(row).into_iter().for_each(|code| present.leave(code)),
            |present| {
                codes.extend_from_slice(&present.codes);
                offsets.push(codes.len() as i64);
            },
        );
        let value = |code: u32| {
            row_of
                .get(code as usize)
                .map(|&row| V::canonical(V::at(values, row)))
        };
        Ok(Column::list(
            offsets,
            V::column(codes.into_iter().map(value)),
        ))
    }
}
