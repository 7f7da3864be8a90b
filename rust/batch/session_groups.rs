//! Rows with key numbers to sessions with states: the part of a session query that knows no keys.
//!
//! Where sessions are cut, rows wait until all that come before them in time are there. Those before
//! the frontier are then taken in the order of time; a session that goes on past it stays with its
//! states, as it depends on no earlier row any more.

use std::sync::Arc;

use super::pending::NumberedRows;
use super::session_rows::{RowLists, SessionRows};
use super::tuning;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::{Interrupt, STRETCH};
use crate::core::key::KeyId;
use crate::core::memory;
use crate::core::session::batch::OpenSessions;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::core::window::{Extent, Window};
use crate::input::records::Records;
use crate::plan::query::Query;

/// Bytes for each session, about, in what is copied where sessions grow in number or are joined:
/// the largest columns of the sessions and of the states.
const GROWN: usize = 64;

/// Sessions that grow.
pub(super) struct SessionGroups {
    query: Arc<Query>,
    gap: Gap,
    sessions: OpenSessions,
    states: Accumulators,
    /// Empty unless rows come back.
    rows: SessionRows,
    waiting: NumberedRows,
}

/// Sessions that have left [`SessionGroups`], parallel by slot.
pub(crate) struct SessionColumns {
    /// The key of each session.
    pub keys: Vec<KeyId>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
    /// The states of each session.
    pub states: Accumulators,
    /// The rows of each session, where they come back.
    pub rows: Option<RowLists>,
    /// The slot of what has joined each session, by the slot that it had; none where nothing has moved.
    moves: Option<Vec<Slot>>,
}

impl SessionColumns {
    /// The session of what was merged into a slot.
    pub fn slot(&self, merged: Slot) -> Slot {
        let moves = self.moves.as_deref();
        let moved = moves.and_then(|moves| moves.get(merged.0 as usize));
        moved.copied().unwrap_or(merged)
    }

    /// The windows of slots.
    pub fn windows(&self, slots: &[Slot]) -> Vec<Window> {
        let extents = slots.iter().map(|slot| self.extents.get(slot.0 as usize));
        extents.flatten().map(Extent::window).collect()
    }
}

impl SessionGroups {
    /// No sessions yet.
    pub fn new(query: Arc<Query>, gap: Gap) -> Self {
        Self {
            gap,
            sessions: OpenSessions::default(),
            states: query.accumulators(),
            rows: SessionRows::default(),
            waiting: NumberedRows::default(),
            query,
        }
    }

    /// Adds rows, whose keys are numbered.
    pub fn add(&mut self, keys: Vec<KeyId>, input: Records) {
        self.waiting.add(keys, input);
    }

    /// Gives the waiting rows their sessions as soon as that pays, and at the latest when about
    /// `most` rows wait.
    pub fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        let may_assign = self.query.cut.is_none();
        if may_assign && tuning::is_due(&self.waiting, &mut self.sessions, self.gap, most) {
            self.assign(None, interrupt)?;
        }
        Ok(())
    }

    /// Gives the waiting rows their sessions; where sessions are cut, those before `frontier`, all of
    /// them without one.
    fn assign(&mut self, frontier: Option<Time>, interrupt: &Interrupt) -> Result<()> {
        let waiting = match frontier.filter(|_| self.query.cut.is_some()) {
            Some(frontier) => self.waiting.take_before(frontier)?,
            None => std::mem::take(&mut self.waiting),
        };
        memory::room_to_grow(self.sessions.len(), waiting.rows(), GROWN)?;
        let (keys, times) = (waiting.keys(), waiting.times());
        let sessions = &mut self.sessions;
        let slots = match (self.query.cut, self.gap) {
            (None, Gap::Fixed(gap)) => sessions.assign(&keys, &times, gap, interrupt)?,
            (None, Gap::Dynamic { .. }) => {
                sessions.assign_own(&keys, &times, &waiting.gaps(), interrupt)?
            }
            (Some(cut), gap) => {
                let gaps = waiting.gaps();
                if !gaps.is_empty() && gaps.len() != keys.len() {
                    return Err(Error::Internal("each record has a gap"));
                }
                let own = |row: usize| gaps.get(row).copied().unwrap_or(gap.longest());
                sessions.assign_cut(&keys, &times, own, cut, interrupt)?
            }
        };
        self.states.resize(self.sessions.len());
        let mut rest = slots.as_slice();
        for input in waiting.inputs() {
            interrupt.check()?;
            let (slots, others) = rest
                .split_at_checked(input.rows())
                .ok_or(Error::Internal("each row has a slot"))?;
            rest = others;
            let inputs = input.inputs()?;
            self.states.update(
                slots,
                input.times(),
                input.seq_nos(),
                &self.query.accumulator_inputs(&inputs),
            )?;
            if let Some(column) = self.query.row_number.and_then(|number| inputs.get(number)) {
                self.rows.add(i64::view(column)?, slots)?;
            }
        }
        Ok(())
    }

    /// Takes the waiting rows as they are, where grouping them would join few, and where sessions are
    /// cut, as that asks for all rows of a key.
    pub fn take_scattered(&mut self, interrupt: &Interrupt) -> Result<Option<NumberedRows>> {
        let rows = self.waiting.rows();
        let is_taken = if self.query.cut.is_some() {
            rows > 0
        } else {
            rows >= self.query.limits.pack_loose
                && tuning::are_scattered(&self.waiting, &self.query, self.gap, interrupt)?
        };
        Ok(is_taken.then(|| std::mem::take(&mut self.waiting)))
    }

    /// The rows that wait.
    pub fn waiting(&mut self) -> &mut NumberedRows {
        &mut self.waiting
    }

    /// Merges partial sessions: slots `from` of `states` and `rows`, parallel to `keys` and `extents`.
    /// Returns the slots that they were merged into.
    pub fn merge(
        &mut self,
        keys: &[KeyId],
        extents: &[Extent],
        states: &Accumulators,
        from: &[Slot],
        rows: Option<&RowLists>,
    ) -> Result<Vec<Slot>> {
        let into = self.sessions.assign_partials(keys, extents)?;
        self.states.resize(self.sessions.len());
        if let Some(rows) = rows {
            self.rows.add_lists(rows, from, &into)?;
        }
        self.states.merge(&into, states, from)?;
        Ok(into)
    }

    /// Takes all sessions out, those joined that belong together; where sessions are cut, without the
    /// rows from `frontier` on, which wait.
    pub fn coalesce(
        &mut self,
        frontier: Option<Time>,
        interrupt: &Interrupt,
    ) -> Result<SessionColumns> {
        self.assign(frontier, interrupt)?;
        memory::room_for(self.sessions.len().saturating_mul(GROWN))?;
        let coalesced = self.sessions.coalesce(interrupt)?;
        let mut states = std::mem::replace(&mut self.states, self.query.accumulators());
        let slots = coalesced.keys.len();
        let rows = self.query.row_number.is_some();
        let rows = rows
            .then(|| self.rows.take_lists(slots, coalesced.moves.as_deref()))
            .transpose()?;
        if let Some(moves) = &coalesced.moves {
            let mut joined = states.fresh();
            joined.resize(slots);
            let from = Slot::below(moves.len())?;
            for (into, from) in moves.chunks(STRETCH).zip(from.chunks(STRETCH)) {
                interrupt.check()?;
                joined.merge(into, &states, from)?;
            }
            states = joined;
        }
        Ok(SessionColumns {
            keys: coalesced.keys,
            extents: coalesced.extents,
            states,
            rows,
            moves: coalesced.moves,
        })
    }

    /// Number of partial sessions, and of waiting rows.
    pub fn rows(&self) -> usize {
        self.sessions.len() + self.waiting.rows()
    }
}
