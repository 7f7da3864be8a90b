//! Builds sessions that rules end, from many rows at once.
//!
//! A key has one open session, its last one. Rows must not be before their key's rows of earlier
//! calls, and rows of one time come in one call.

use super::cut::{Cut, CutSession};
use crate::core::aggregate::slot::{PerSlot, Slot};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::record::RecordRule;
use crate::core::operator::session_end::EndedBy;
use crate::core::sort::SortedRows;
use crate::core::time::{Span, Time};

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

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Assigns each record to its session. `keys`, `times`, `gap` and `rule` are parallel, and no key
    /// is null.
    ///
    /// # Errors
    ///
    /// More sessions than slots, and the errors of the interrupt.
    pub fn assign(
        &mut self,
        (keys, times): (&[KeyId], &[Time]),
        gap: impl Fn(usize) -> Span,
        rule: impl Fn(usize) -> RecordRule,
        cut: &Cut,
        interrupt: &Interrupt,
    ) -> Result<Vec<Slot>> {
        Slot::of(self.keys.len() + keys.len())?;
        let mut slots = vec![Slot(0); keys.len()];
        let mut put = |row: u32, slot: Slot| -> Result<()> {
            let Some(own) = slots.get_mut(row as usize) else {
                return Err(Error::Internal("a record has no row"));
            };
            *own = slot;
            Ok(())
        };
        let record = |&(time, row): &(Time, u32)| {
            CutSession::of(time, gap(row as usize), rule(row as usize))
        };
        let mut tied = Vec::new();
        for (key, rows) in SortedRows::new(keys, times, interrupt)?.by_key() {
            let mut open = self.open(key);
            for at_once in rows.chunk_by(|(left, _), (right, _)| left == right) {
                if let [alone] = at_once {
                    put(alone.1, self.follow(&mut open, key, record(alone), cut))?;
                    continue;
                }
                tied.clear();
                tied.extend(at_once.iter().map(|row| (record(row), row.1)));
                tied.sort_by_key(|(record, _)| record.tie);
                for together in tied.chunk_by(|(left, _), (right, _)| left.tie == right.tie) {
                    let Some((&(mut first, _), others)) = together.split_first() else {
                        continue;
                    };
                    others
                        .iter()
                        .for_each(|(other, _)| first.add_together(other));
                    let slot = self.follow(&mut open, key, first, cut);
                    together.iter().try_for_each(|&(_, row)| put(row, slot))?;
                }
            }
            if let Some((slot, session)) = open {
                self.sessions[slot] = session;
            }
        }
        Ok(slots)
    }

    /// The last session of a key.
    fn open(&self, key: KeyId) -> Option<(Slot, CutSession)> {
        let slot = self.last.get(key.0 as usize).copied().flatten()?;
        Some((slot, self.sessions[slot]))
    }

    /// The slot of the next records of a key. `open` is the last session of the key, which is stored
    /// once it has ended.
    #[inline(always)]
    fn follow(
        &mut self,
        open: &mut Option<(Slot, CutSession)>,
        key: KeyId,
        next: CutSession,
        cut: &Cut,
    ) -> Slot {
        let mut before = None;
        if let Some((slot, session)) = open {
            let Some(ended_by) = cut.ended_by(session, &next) else {
                cut.extend(session, &next);
                return *slot;
            };
            self.sessions[*slot] = *session;
            self.ended[*slot] = Some(ended_by);
            before = Some(*session);
        }
        let session = cut.begin(next, before.as_ref());
        let slot = self.put(key, session);
        *open = Some((slot, session));
        slot
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
