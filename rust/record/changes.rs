//! The changes of one batch, with copies of their states.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::states::OperatorStates;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Change, Op, Sink};
use crate::core::time::Time;
use crate::core::window::Window;

/// Changes in order. Unless every change counts, a window has at most one row (rules 6.2). Memory
/// then grows with the number of changed windows, not with the number of changes.
pub struct Changes {
    /// The row of each window. `None` if every change counts.
    latest: Option<Latest>,
    rows: Vec<Row>,
    /// Rows that other windows may reuse.
    free: Vec<usize>,
    /// The number of changes so far.
    count: u64,
}

/// The position of the row of each key and window.
struct Latest {
    table: HashTable<usize>,
    /// The seed of the hash.
    seed: u64,
}

impl Latest {
    fn new() -> Self {
        Self {
            table: HashTable::new(),
            seed: RandomState::new().hash_one(0),
        }
    }

    /// The entry of a window, among `rows`.
    fn entry(&mut self, name: &[u8], window: Window, rows: &[Row]) -> Entry<'_, usize> {
        let seed = self.seed;
        let is_same = |&position: &usize| {
            rows.get(position)
                .is_some_and(|row| row.window == window && *row.name == *name)
        };
        let hash_of = |&position: &usize| {
            let row = rows.get(position);
            row.map_or(0, |row| hash(seed, &row.name, row.window))
        };
        self.table.entry(hash(seed, name, window), is_same, hash_of)
    }

    /// Forgets the window of a row.
    fn remove(&mut self, row: &Row, position: usize) {
        let hash = hash(self.seed, &row.name, row.window);
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == position) {
            entry.remove();
        }
    }
}

fn hash(seed: u64, name: &[u8], window: Window) -> u64 {
    let (start, end) = (window.start.0 as u128, window.end.0 as u64);
    let times = start << 64 | u128::from(end);
    xxh3_64_with_seed(&times.to_le_bytes(), xxh3_64_with_seed(name, seed))
}

/// A change of a window, without its key.
pub(crate) struct ChangeRow {
    pub window: Window,
    pub time: Time,
    pub op: Op,
    /// The slot of its states. `None` if the change has no aggregates.
    pub slot: Option<Slot>,
}

/// A change with a copy of the states.
pub(super) struct Row {
    pub name: Box<[u8]>,
    pub window: Window,
    pub time: Time,
    pub op: Op,
    pub slot: Option<Slot>,
    /// Whether the window was stored before the batch.
    known: bool,
    /// The number of the change. `None` if the row is free.
    number: Option<u64>,
}

impl Row {
    /// The change, without its key.
    pub fn change(&self) -> ChangeRow {
        ChangeRow {
            window: self.window,
            time: self.time,
            op: self.op,
            slot: self.slot,
        }
    }
}

impl Changes {
    /// Creates an empty list. `every` makes every change count.
    pub fn new(every: bool) -> Self {
        Self {
            latest: (!every).then(Latest::new),
            rows: Vec::new(),
            free: Vec::new(),
            count: 0,
        }
    }

    /// The number of upserts and deletes.
    pub fn updates(&self) -> u64 {
        let updates = self
            .rows
            .iter()
            .filter(|row| row.number.is_some() && matches!(row.op, Op::Upsert | Op::Delete));
        updates.count() as u64
    }

    /// The rows in the order of changes.
    pub(super) fn into_rows(mut self) -> Vec<Row> {
        self.rows.retain(|row| row.number.is_some());
        if self.rows.len() as u64 != self.count {
            self.rows.sort_unstable_by_key(|row| row.number);
        }
        self.rows
    }
}

impl Sink<OperatorStates<'_>> for Changes {
    fn emit(&mut self, change: Change<'_>, states: &mut OperatorStates<'_>) -> Result<()> {
        // Time makes a window final, not the current record.
        let at = if change.op == Op::Final {
            std::mem::take(&mut states.at)
        } else {
            states.at
        };
        let result = self.add(change, states);
        states.at = at;
        result
    }
}

impl Changes {
    fn add(&mut self, change: Change<'_>, states: &mut OperatorStates<'_>) -> Result<()> {
        let Change {
            name,
            window,
            time,
            op,
            slot,
            known,
            ..
        } = change;
        let number = Some(self.count);
        self.count += 1;
        let next = self.free.last().copied().unwrap_or(self.rows.len());
        let latest = self
            .latest
            .as_mut()
            .filter(|_| matches!(op, Op::Upsert | Op::Delete));
        match latest.map(|latest| latest.entry(name, window, &self.rows)) {
            Some(Entry::Occupied(entry)) => {
                let position = *entry.get();
                return self.replace(position, number, change, states);
            }
            // A window created and deleted in the same batch has no row.
            Some(Entry::Vacant(_)) if op == Op::Delete && !known => return Ok(()),
            Some(Entry::Vacant(entry)) => drop(entry.insert(next)),
            None => {}
        }
        let row = Row {
            name: name.into(),
            window,
            time,
            op,
            slot: slot.map(|slot| states.keep(slot, window)).transpose()?,
            known,
            number,
        };
        self.free.pop();
        match self.rows.get_mut(next) {
            Some(free) => *free = row,
            None => self.rows.push(row),
        }
        Ok(())
    }

    /// Replaces the change of a window by a later one, and overwrites the copy of its states.
    fn replace(
        &mut self,
        position: usize,
        number: Option<u64>,
        change: Change<'_>,
        states: &mut OperatorStates<'_>,
    ) -> Result<()> {
        let row = self
            .rows
            .get_mut(position)
            .ok_or(Error::Internal("a window has its row"))?;
        let window = row.window;
        row.slot = match (change.slot, row.slot.take()) {
            (Some(slot), Some(copy)) => {
                states.overwrite(copy, slot, window)?;
                Some(copy)
            }
            (Some(slot), None) => Some(states.keep(slot, window)?),
            (None, copy) => {
                copy.into_iter().for_each(|copy| states.release(copy));
                None
            }
        };
        (row.time, row.op, row.number) = (change.time, change.op, number);
        if change.op == Op::Delete && !row.known {
            row.number = None;
            if let Some(latest) = &mut self.latest {
                latest.remove(row, position);
            }
            row.name = Box::default();
            self.free.push(position);
        }
        Ok(())
    }
}
