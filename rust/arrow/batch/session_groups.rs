//! Rows with key numbers to sessions with states: the part of a session query that knows no keys.

use std::sync::Arc;

use super::pending::NumberedRows;
use super::tuning;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::slot::Slot;
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, STRETCH};
use crate::key::KeyId;
use crate::memory;
use crate::session::batch::OpenSessions;
use crate::session::windows::Gap;
use crate::window::{Extent, Window};

/// Bytes for each session, about, in what is copied where sessions grow in number or are joined:
/// the largest columns of the sessions and of the states.
const GROWN: usize = 64;

/// Sessions that grow.
pub(super) struct SessionGroups {
    query: Arc<Query>,
    gap: Gap,
    sessions: OpenSessions,
    states: Accumulators,
    waiting: NumberedRows,
}

/// Sessions that have left [`SessionGroups`], parallel by slot.
pub(crate) struct ClosedSessions {
    /// The key of each session.
    pub keys: Vec<KeyId>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
    /// The states of each session.
    pub states: Accumulators,
}

impl ClosedSessions {
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
        if tuning::is_due(&self.waiting, &mut self.sessions, self.gap, most) {
            self.assign(interrupt)?;
        }
        Ok(())
    }

    /// Gives the waiting rows their sessions.
    fn assign(&mut self, interrupt: &Interrupt) -> Result<()> {
        memory::room_to_grow(self.sessions.len(), self.waiting.rows(), GROWN)?;
        let waiting = std::mem::take(&mut self.waiting);
        let (keys, times) = (waiting.keys(), waiting.times());
        let slots = match self.gap {
            Gap::Fixed(gap) => self.sessions.assign(&keys, &times, gap, interrupt)?,
            Gap::Dynamic { .. } => {
                let gaps = waiting.gaps();
                self.sessions.assign_own(&keys, &times, &gaps, interrupt)?
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
            self.states.update(
                slots,
                input.times(),
                input.seq_nos(),
                &self.query.accumulator_inputs(&input.inputs()?),
            )?;
        }
        Ok(())
    }

    /// Takes the waiting rows as they are, where grouping them would join few.
    pub fn take_scattered(&mut self, interrupt: &Interrupt) -> Result<Option<NumberedRows>> {
        let few = self.waiting.rows() < self.query.limits.pack_loose;
        if few || !tuning::are_scattered(&self.waiting, self.gap, interrupt)? {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.waiting)))
    }

    /// Merges partial sessions: slots `from` of `states`, parallel to `keys` and `extents`.
    pub fn merge(
        &mut self,
        keys: &[KeyId],
        extents: &[Extent],
        states: &Accumulators,
        from: &[Slot],
    ) -> Result<()> {
        let into = self.sessions.assign_partials(keys, extents);
        self.states.resize(self.sessions.len());
        self.states.merge(&into, states, from)
    }

    /// Takes all sessions out, those joined that belong together.
    pub fn coalesce(&mut self, interrupt: &Interrupt) -> Result<ClosedSessions> {
        self.assign(interrupt)?;
        memory::room_for(self.sessions.len().saturating_mul(GROWN))?;
        let coalesced = self.sessions.coalesce(interrupt)?;
        let mut states = std::mem::replace(&mut self.states, self.query.accumulators());
        if let Some(moves) = coalesced.moves {
            let mut joined = states.fresh();
            joined.resize(coalesced.keys.len());
            let from = Slot::below(moves.len());
            for (into, from) in moves.chunks(STRETCH).zip(from.chunks(STRETCH)) {
                interrupt.check()?;
                joined.merge(into, &states, from)?;
            }
            states = joined;
        }
        Ok(ClosedSessions {
            keys: coalesced.keys,
            extents: coalesced.extents,
            states,
        })
    }

    /// Number of partial sessions, and of waiting rows.
    pub fn rows(&self) -> usize {
        self.sessions.len() + self.waiting.rows()
    }
}
