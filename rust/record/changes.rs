//! The changes of one batch, with copies of their states.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::left_out::LeftOut;
use super::operator_states::OperatorStates;
use crate::core::aggregate::states::States;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Op, Sink, WindowChange};
use crate::core::operator::record::RecordOutcome;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::time::Time;
use crate::core::window::Window;

/// Changes in order. Unless every change counts, a window has at most one row (rules 6.2). Memory
/// then grows with the number of changed windows, not with the number of changes.
pub(crate) struct Changes {
    /// The row of each window. `None` if every change counts.
    latest: Option<Latest>,
    rows: Vec<ChangeRow>,
    /// Rows that other windows may reuse.
    free: Vec<usize>,
    /// The number of changes so far.
    count: u64,
    /// The records that are in no window. `None` if nobody asks for them.
    pub(super) left_out: Option<LeftOut>,
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
    fn entry(&mut self, name: &[u8], window: Window, rows: &[ChangeRow]) -> Entry<'_, usize> {
        let seed = self.seed;
        let is_same = |&position: &usize| {
            rows.get(position)
                .is_some_and(|row| row.change.window == window && *row.name == *name)
        };
        let hash_of = |&position: &usize| {
            let row = rows.get(position);
            row.map_or(0, |row| hash(seed, &row.name, row.change.window))
        };
        self.table.entry(hash(seed, name, window), is_same, hash_of)
    }

    /// Forgets the window of a row.
    fn remove(&mut self, row: &ChangeRow, position: usize) {
        let hash = hash(self.seed, &row.name, row.change.window);
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

/// A change with a copy of the states.
pub(super) struct ChangeRow {
    /// The key.
    pub name: Box<[u8]>,
    /// The change. It was stored if it was so before the batch.
    pub change: WindowChange,
    /// The number of the change. `None` if the row is free.
    number: Option<u64>,
}

impl Changes {
    /// Creates an empty list. `every` makes every change count.
    pub(crate) fn new(every: bool) -> Self {
        Self {
            latest: (!every).then(Latest::new),
            rows: Vec::new(),
            free: Vec::new(),
            count: 0,
            left_out: None,
        }
    }

    /// Keeps a record whose outcome is that it is in no window.
    pub(super) fn note(&mut self, row: usize, outcome: RecordOutcome, now: StreamTimes) {
        if let Some(left_out) = &mut self.left_out {
            left_out.note(row, outcome, now);
        }
    }

    /// Keeps a row that no time has judged.
    pub(super) fn keep(&mut self, row: usize, reason: &'static str) {
        if let Some(left_out) = &mut self.left_out {
            left_out.keep(row, reason);
        }
    }

    /// Keeps a tick that has no time.
    pub(super) fn note_tick(&mut self, row: usize, time: Option<Time>) {
        if time.is_none() {
            self.keep(row, "bad_tick");
        }
    }

    /// The number of upserts and deletes.
    pub(crate) fn updates(&self) -> u64 {
        let updates = self
            .rows
            .iter()
            .filter(|row| row.number.is_some() && matches!(row.change.op, Op::Upsert | Op::Delete));
        updates.count() as u64
    }

    /// The rows in the order of changes.
    pub(super) fn into_rows(mut self) -> Vec<ChangeRow> {
        self.rows.retain(|row| row.number.is_some());
        if self.rows.len() as u64 != self.count {
            self.rows.sort_unstable_by_key(|row| row.number);
        }
        self.rows
    }
}

impl Sink<OperatorStates<'_>> for Changes {
    fn emit(
        &mut self,
        name: &[u8],
        change: WindowChange,
        states: &mut OperatorStates<'_>,
    ) -> Result<()> {
        // Time makes a window final, not the current record.
        let at = if change.op == Op::Final {
            std::mem::take(&mut states.at)
        } else {
            states.at
        };
        let result = self.add(name, change, states);
        states.at = at;
        result
    }
}

impl Changes {
    fn add(
        &mut self,
        name: &[u8],
        change: WindowChange,
        states: &mut OperatorStates<'_>,
    ) -> Result<()> {
        let WindowChange {
            window, op, slot, ..
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
            Some(Entry::Vacant(_)) if op == Op::Delete && !change.was_stored => return Ok(()),
            Some(Entry::Vacant(entry)) => drop(entry.insert(next)),
            None => {}
        }
        let copy = slot.map(|slot| states.keep(slot, window)).transpose()?;
        let row = ChangeRow {
            name: name.into(),
            change: WindowChange {
                slot: copy,
                ..change
            },
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
        change: WindowChange,
        states: &mut OperatorStates<'_>,
    ) -> Result<()> {
        let row = self
            .rows
            .get_mut(position)
            .ok_or(Error::Internal("a window has no row"))?;
        let (window, was_stored) = (change.window, row.change.was_stored);
        let slot = match (change.slot, row.change.slot) {
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
        row.change = WindowChange {
            slot,
            was_stored,
            ..change
        };
        row.number = number;
        if change.op == Op::Delete && !was_stored {
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
