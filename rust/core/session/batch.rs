//! Builds sessions from many rows at once, in any input order.
//!
//! Each key has one *open* partial session. A row joins it or opens another one, so rows in time
//! order never look further back. A key is *dirty* once its rows go back in time. Its partial
//! sessions may then touch, and [`OpenSessions::coalesce`] joins them in one sweep over their
//! starts.
//!
//! ```text
//!   rows of a key      1 2   9 8       4          (gap 3)
//!   partial sessions   [1,2] [8,9]     [4,4]      dirty: 4 is before the open session
//!   coalesced          [1,4] [8,9]
//! ```
//!
//! A session is a stretch from its start to its reach, and stretches that touch are one session. So
//! the same code serves one gap for all records and a gap per record. The partial sessions of a
//! clean key do not touch and are in order, the open one last. For a dirty key, the sweep over the
//! starts meets each stretch before everything it reaches.
//!
//! ```text
//!   rows of a key      1 ··4    6 ·7    0 ······8      (a gap per row; the last row comes late)
//!   coalesced          [0,6]            reach 8
//! ```

use super::coalesce::{CoalescedSessions, coalesce};
use super::disorder::{Disorder, REVIEW_ROWS};
use crate::core::aggregate::slot::{PerSlot, Slot};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sort::SortedRows;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

/// The open partial session of a key.
#[derive(Clone, Copy, Debug)]
struct OpenSession {
    extent: Extent,
    slot: Slot,
    /// Whether partial sessions of the key may touch each other.
    dirty: bool,
    /// Whether the key has other partial sessions.
    has_others: bool,
}

/// A key without a partial session.
const NONE_OPEN: OpenSession = OpenSession {
    extent: Extent {
        start: Time::MIN,
        end: Time::MIN,
        reach: Time::MIN,
    },
    slot: Slot(u32::MAX),
    dirty: false,
    has_others: false,
};

/// Partial sessions of many keys, one per slot.
#[derive(Debug, Default)]
pub struct OpenSessions {
    keys: Vec<KeyId>,
    extents: PerSlot<Extent>,
    open: Vec<OpenSession>,
    dirty: usize,
    /// Number of rows that opened a session before their key's open one.
    steps_back: usize,
    disorder: Disorder,
}

impl OpenSessions {
    /// Number of partial sessions, which is the number of slots.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Assigns each record to its partial session. `keys` and `times` are parallel, and no key is
    /// null.
    pub fn assign(
        &mut self,
        keys: &[KeyId],
        times: &[Time],
        gap: Span,
        interrupt: &Interrupt,
    ) -> Result<Vec<Slot>> {
        self.assign_each(keys, times, |_, time| Extent::of(time, gap), interrupt)
    }

    /// The same, with an extent for each record, by its row and its time.
    pub fn assign_each(
        &mut self,
        keys: &[KeyId],
        times: &[Time],
        extent: impl Fn(usize, Time) -> Extent,
        interrupt: &Interrupt,
    ) -> Result<Vec<Slot>> {
        self.check_room(keys.len(), times.len())?;
        if self.disorder.is_unknown() || self.disorder.is_shuffled() {
            let rows = (0..).zip(keys.iter().zip(times));
            self.disorder
                .look_ahead(rows.map(|(row, (&key, &time))| (key, extent(row, time))));
        }
        let mut slots = vec![Slot(0); keys.len()];
        let mut done = 0;
        for ((slots, keys), times) in slots
            .chunks_mut(REVIEW_ROWS)
            .zip(keys.chunks(REVIEW_ROWS))
            .zip(times.chunks(REVIEW_ROWS))
        {
            if self.disorder.is_shuffled() {
                break;
            }
            let before = self.steps_back;
            for (row, ((slot, &key), &time)) in (done..).zip(slots.iter_mut().zip(keys).zip(times))
            {
                *slot = self.join(key, extent(row, time));
            }
            done += keys.len();
            self.disorder.review(self.steps_back - before);
        }
        if let (Some(keys), Some(times), Some(slots)) =
            (keys.get(done..), times.get(done..), slots.get_mut(done..))
            && !keys.is_empty()
        {
            let extent = |row, time| extent(done + row, time);
            self.assign_sorted(keys, times, extent, slots, interrupt)?;
        }
        Ok(slots)
    }

    /// Assigns shuffled rows. Sorts them by key and time first, so that it builds each session in
    /// one go.
    fn assign_sorted(
        &mut self,
        keys: &[KeyId],
        times: &[Time],
        extent: impl Fn(usize, Time) -> Extent,
        slots: &mut [Slot],
        interrupt: &Interrupt,
    ) -> Result<()> {
        for (key, rows) in SortedRows::new(keys, times, interrupt)?.by_key() {
            for &(time, row) in rows {
                let row = row as usize;
                if let Some(slot) = slots.get_mut(row) {
                    *slot = self.join(key, extent(row, time));
                }
            }
        }
        Ok(())
    }

    /// How far the latest rows came out of order.
    pub fn disorder(&mut self) -> &mut Disorder {
        &mut self.disorder
    }

    /// Assigns each partial session its slot. `keys` and `extents` are parallel, and no key is
    /// null.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if the lengths differ. An error if there are more sessions than slots.
    pub fn assign_partials(&mut self, keys: &[KeyId], extents: &[Extent]) -> Result<Vec<Slot>> {
        self.check_room(keys.len(), extents.len())?;
        let partials = keys.iter().zip(extents);
        Ok(partials
            .map(|(&key, &extent)| self.join(key, extent))
            .collect())
    }

    /// Checks that there are as many times as keys, and that each key may open a session.
    fn check_room(&self, keys: usize, times: usize) -> Result<()> {
        if keys != times {
            return Err(Error::Internal("a record has no key or no time"));
        }
        Slot::of(self.keys.len() + keys).map(drop)
    }

    /// The slot of a record or a partial session: its key's open session if they join, or else a
    /// new one.
    #[inline(always)]
    fn join(&mut self, key: KeyId, extent: Extent) -> Slot {
        match self
            .open
            .get_mut(key.0 as usize)
            .filter(|open| open.slot != NONE_OPEN.slot && open.extent.joins(&extent))
        {
            Some(open) => {
                if extent.start < open.extent.start && open.has_others && !open.dirty {
                    open.dirty = true;
                    self.dirty += 1;
                }
                open.extent = open.extent.union(&extent);
                open.slot
            }
            None => self.begin(key, extent),
        }
    }

    /// Opens a session. Not inlined: most records join a session, and their path stays short.
    #[inline(never)]
    fn begin(&mut self, key: KeyId, extent: Extent) -> Slot {
        let index = key.0 as usize;
        if index >= self.open.len() {
            self.open.resize(index + 1, NONE_OPEN);
        }
        let slot = Slot(self.keys.len() as u32); // `check_room` has checked the number
        self.keys.push(key);
        self.extents.0.push(extent);
        let Some(open) = self.open.get_mut(index) else {
            return slot;
        };
        let known = open.slot != NONE_OPEN.slot;
        let back = known && extent.start < open.extent.start;
        if known {
            self.extents[open.slot] = open.extent;
        }
        if back {
            self.steps_back += 1;
            self.dirty += usize::from(!open.dirty);
        }
        *open = OpenSession {
            extent,
            slot,
            dirty: open.dirty | back,
            has_others: known,
        };
        slot
    }

    /// Joins partial sessions that touch, and moves all sessions out.
    pub fn coalesce(&mut self, interrupt: &Interrupt) -> Result<CoalescedSessions> {
        let open = std::mem::take(&mut self.open);
        let (keys, mut extents) = (
            std::mem::take(&mut self.keys),
            std::mem::take(&mut self.extents),
        );
        for open in open.iter().filter(|open| open.slot != NONE_OPEN.slot) {
            extents[open.slot] = open.extent;
        }
        self.steps_back = 0;
        if std::mem::take(&mut self.dirty) == 0 {
            return Ok(CoalescedSessions {
                moves: None,
                keys,
                extents: extents.0,
            });
        }
        let is_dirty = |key: &KeyId| open.get(key.0 as usize).is_some_and(|open| open.dirty);
        coalesce(keys, extents, is_dirty, interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_time_is_an_error() {
        let (keys, times) = ([KeyId(0), KeyId(0)], [Time(0)]);
        let assigned = OpenSessions::default().assign(&keys, &times, Span(1), &Interrupt::never());
        assert!(matches!(assigned, Err(Error::Internal(_))));
    }
}
