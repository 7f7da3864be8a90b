//! Builds sessions that rules end, from many rows at once.
//!
//! A key has one open session, its last one. Rows must not be before their key's rows of earlier
//! calls, and rows of one time come in one call.

use super::cut::{Cut, CutSession};
use crate::core::aggregate::slot::{PerSlot, Slot};
use crate::core::error::{Error, Result};
use crate::core::interrupt::{Interrupt, STRETCH};
use crate::core::key::KeyId;
use crate::core::operator::record::RecordRule;
use crate::core::operator::session_end::EndedBy;
use crate::core::sort::SortedRows;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Sessions of many keys, one per slot.
#[derive(Debug, Default)]
pub struct CutSessions {
    /// The key of each session.
    pub(crate) keys: Vec<KeyId>,
    /// The sessions.
    pub(crate) sessions: PerSlot<CutSession>,
    /// Why each session ended before the next one of its key; none for the last one.
    pub(crate) ended: PerSlot<Option<EndedBy>>,
    /// The last session of each key.
    last: Vec<Option<Slot>>,
}

impl CutSessions {
    /// Number of sessions, which is the number of slots.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Assigns each record to its session. `keys`, `times`, `extent` and `rule` are parallel, and no key
    /// is null.
    ///
    /// # Errors
    ///
    /// More sessions than slots, and the errors of the interrupt.
    pub fn assign(
        &mut self,
        (keys, times): (&[KeyId], &[Time]),
        extent: impl Fn(usize, Time) -> Extent,
        rule: impl Fn(usize) -> RecordRule,
        cut: &Cut,
        interrupt: &Interrupt,
    ) -> Result<Vec<Slot>> {
        Slot::of(self.keys.len() + keys.len())?;
        let record = |row: u32, time: Time| {
            let row = row as usize;
            CutSession::of(extent(row, time), rule(row))
        };
        let mut slots = Vec::with_capacity(keys.len());
        if are_in_order(keys, times) {
            let mut rows = 0..;
            for (keys, times) in keys.chunks(STRETCH).zip(times.chunks(STRETCH)) {
                interrupt.check()?;
                let rows = keys.iter().zip(times).zip(&mut rows);
                let slot = |((&key, &time), row)| self.follow(key, record(row, time), cut);
                slots.extend(rows.map(slot));
            }
            return Ok(slots);
        }
        slots.resize(keys.len(), Slot(0));
        let mut put = |row: u32, slot: Slot| -> Result<()> {
            let Some(own) = slots.get_mut(row as usize) else {
                return Err(Error::Internal("a record has no row"));
            };
            *own = slot;
            Ok(())
        };
        let mut tied = Vec::new();
        for (key, rows) in SortedRows::new(keys, times, interrupt)?.by_key() {
            for at_once in rows.chunk_by(|(left, _), (right, _)| left == right) {
                if let &[(time, row)] = at_once {
                    put(row, self.follow(key, record(row, time), cut))?;
                    continue;
                }
                tied.clear();
                tied.extend(at_once.iter().map(|&(time, row)| (record(row, time), row)));
                tied.sort_by_key(|(record, _)| record.tie);
                for together in tied.chunk_by(|(left, _), (right, _)| left.tie == right.tie) {
                    let Some((&(mut first, _), others)) = together.split_first() else {
                        continue;
                    };
                    others
                        .iter()
                        .for_each(|(other, _)| first.add_together(other));
                    let slot = self.follow(key, first, cut);
                    together.iter().try_for_each(|&(_, row)| put(row, slot))?;
                }
            }
        }
        Ok(slots)
    }

    /// The slot of the next records of a key.
    #[inline(always)]
    fn follow(&mut self, key: KeyId, next: CutSession, cut: &Cut) -> Slot {
        let Some(slot) = self.last.get(key.0 as usize).copied().flatten() else {
            return self.put(key, cut.begin(next, None));
        };
        let session = &mut self.sessions[slot];
        let Some(ended_by) = cut.ended_by(session, &next) else {
            cut.extend(session, &next);
            return slot;
        };
        let before = *session;
        self.ended[slot] = Some(ended_by);
        self.put(key, cut.begin(next, Some(&before)))
    }

    /// Adds the last session of a key.
    pub fn put(&mut self, key: KeyId, session: CutSession) -> Slot {
        let slot = Slot(self.keys.len() as u32); // `assign` has checked the number
        self.keys.push(key);
        self.sessions.0.push(session);
        self.ended.0.push(None);
        let index = key.0 as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, None);
        }
        if let Some(last) = self.last.get_mut(index) {
            *last = Some(slot);
        }
        slot
    }
}

/// Whether each row comes after the rows before it of its key, so that none must be sorted.
fn are_in_order(keys: &[KeyId], times: &[Time]) -> bool {
    let mut latest = Vec::new();
    keys.iter().zip(times).all(|(key, &time)| {
        let index = key.0 as usize;
        if index >= latest.len() {
            latest.resize(index + 1, Time::MIN);
        }
        let latest = latest.get_mut(index);
        latest.is_some_and(|latest| std::mem::replace(latest, time) < time)
    })
}
