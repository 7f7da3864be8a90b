//! Groups rows with key numbers into sessions with states. This part of a session query does not
//! know the keys themselves.
//!
//! If rules end sessions, rows wait until all earlier rows have arrived. The rows before the
//! frontier are then processed in time order. A session that continues past the frontier keeps only
//! its states, because it no longer depends on earlier rows.

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
use crate::core::operator::record::RecordRule;
use crate::core::operator::session_end::{EndedBy, SessionEnd};
use crate::core::session::batch::OpenSessions;
use crate::core::session::cut::{Cut, CutSession};
use crate::core::session::cut_sessions::CutSessions;
use crate::core::session::session_windows::Gap;
use crate::core::sort::pick;
use crate::core::time::Time;
use crate::core::window::{Extent, Window};
use crate::input::records::Records;
use crate::plan::query::Query;

/// Approximate bytes copied per session when sessions grow in number or join: the largest columns
/// of the sessions and of the states.
const GROWN: usize = 64;

/// Sessions that are still growing.
pub(super) struct SessionGroups {
    query: Arc<Query>,
    gap: Gap,
    sessions: OpenSessions,
    /// The sessions of a query in which rules end them.
    cut_sessions: CutSessions,
    states: Accumulators,
    /// Empty unless the query returns rows.
    rows: SessionRows,
    waiting: NumberedRows,
}

/// Sessions taken out of [`SessionGroups`]. Their columns are parallel by slot.
pub(crate) struct SessionColumns {
    /// The key of each session.
    pub keys: Vec<KeyId>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
    /// The states of each session.
    pub states: Accumulators,
    /// The rows of each session, if the query returns rows.
    pub rows: Option<RowLists>,
    /// The new slot of each old slot, or `None` if no session moved.
    moves: Option<Vec<Slot>>,
    /// The sessions of a query in which rules end them; no slots otherwise.
    cut_sessions: CutSessions,
}

impl SessionColumns {
    /// The session that now contains what was merged into this slot.
    pub(crate) fn slot(&self, merged: Slot) -> Slot {
        let moves = self.moves.as_deref();
        let moved = moves.and_then(|moves| moves.get(merged.0 as usize));
        moved.copied().unwrap_or(merged)
    }

    /// The windows of these slots.
    pub(crate) fn windows(&self, slots: &[Slot]) -> Vec<Window> {
        let extents = slots.iter().map(|slot| self.extents.get(slot.0 as usize));
        extents.flatten().map(Extent::window).collect()
    }

    /// How the sessions of these slots ended; empty if no rule ends sessions.
    pub(crate) fn ends(&self, cut: Option<&Cut>, slots: &[Slot]) -> Vec<SessionEnd> {
        let Some(cut) = cut else {
            return Vec::new();
        };
        let end = |&slot: &Slot| {
            let session = &self.cut_sessions.sessions[slot];
            let by_next = self.cut_sessions.ended[slot];
            let ended_by = by_next.or_else(|| cut.own_end(session));
            session.ended(ended_by.unwrap_or(EndedBy::Open))
        };
        slots.iter().map(end).collect()
    }

    /// Whether no record at `frontier` or later can change a session, or what users see of its end.
    pub(crate) fn closed_before(&self, query: &Query, slot: Slot, frontier: Time) -> bool {
        let Some(cut) = &query.cut else {
            let extent = self.extents.get(slot.0 as usize);
            return extent.is_some_and(|extent| extent.closed_before(frontier));
        };
        let session = &self.cut_sessions.sessions[slot];
        let has_ended = self.cut_sessions.ended[slot].is_some();
        let shows_next = query.shows_ends() && cut.own_end(session).is_none();
        has_ended || !shows_next && cut.last_time(session) < frontier
    }
}

impl SessionGroups {
    /// Starts without sessions.
    pub(super) fn new(query: Arc<Query>, gap: Gap) -> Self {
        Self {
            gap,
            sessions: OpenSessions::default(),
            cut_sessions: CutSessions::default(),
            states: query.accumulators(),
            rows: SessionRows::default(),
            waiting: NumberedRows::default(),
            query,
        }
    }

    /// Adds rows with their key numbers.
    pub(super) fn add(&mut self, keys: Vec<KeyId>, input: Records) {
        self.waiting.add(keys, input);
    }

    /// Assigns the waiting rows to sessions once that pays off, at the latest when about `most`
    /// rows wait.
    pub(super) fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        let may_assign = !self.query.keeps_records;
        if may_assign && tuning::is_due(&self.waiting, &mut self.sessions, self.gap, most) {
            self.assign(None, interrupt)?;
        }
        Ok(())
    }

    /// Assigns the waiting rows to sessions. If sessions are cut, this takes only the rows before
    /// `frontier`, or all rows if there is no frontier.
    fn assign(&mut self, frontier: Option<Time>, interrupt: &Interrupt) -> Result<()> {
        let waiting = match frontier.filter(|_| self.query.cut.is_some()) {
            Some(frontier) => self.waiting.take_before(frontier)?,
            None => std::mem::take(&mut self.waiting),
        };
        memory::room_to_grow(self.len(), waiting.rows(), GROWN)?;
        let (keys, times) = (waiting.keys(), waiting.column(Records::times));
        let (ends, gaps) = (waiting.column(Records::ends), waiting.column(Records::gaps));
        let sessions = &mut self.sessions;
        if [ends.len(), gaps.len()]
            .iter()
            .any(|&own| own != 0 && own != keys.len())
        {
            return Err(Error::Internal("a record has no gap or no end"));
        }
        let longest = self.gap.longest();
        let end = |row: usize, time: Time| ends.get(row).copied().unwrap_or(time);
        let extent = |row: usize, time: Time| {
            let gap = gaps.get(row).copied().unwrap_or(longest);
            Extent::lasting(time, end(row, time), gap)
        };
        let slots = match (self.query.cut, self.gap) {
            (None, Gap::Fixed(gap)) if ends.is_empty() => {
                sessions.assign(&keys, &times, gap, interrupt)?
            }
            (None, _) => sessions.assign_each(&keys, &times, extent, interrupt)?,
            (Some(cut), _) => {
                let (marks, ties) = (
                    waiting.column(Records::marks),
                    waiting.column(Records::seq_nos),
                );
                let number = |numbers: &[u64], row| numbers.get(row).copied().unwrap_or_default();
                let has_ties = self.query.columns.tie.is_some();
                let ties = if has_ties { ties.as_slice() } else { &[] };
                let ends = waiting.column(Records::session_ends);
                let rule = |row: usize| RecordRule {
                    tie: number(ties, row),
                    mark: number(&marks, row),
                    ends: ends.get(row).copied().unwrap_or_default(),
                };
                let rows = (keys.as_slice(), times.as_slice());
                let sessions = &mut self.cut_sessions;
                sessions.assign(rows, extent, rule, &cut, interrupt)?
            }
        };
        self.states.resize(self.len());
        let mut rest = slots.as_slice();
        for input in waiting.inputs() {
            interrupt.check()?;
            let (slots, others) = rest
                .split_at_checked(input.rows())
                .ok_or(Error::Internal("a row has no slot"))?;
            rest = others;
            let inputs = input.inputs();
            self.states.update(
                slots,
                input.times(),
                input.seq_nos(),
                &self.query.accumulator_inputs(inputs),
            )?;
            if let Some(column) = self.query.row_number.and_then(|number| inputs.get(number)) {
                self.rows.add(i64::view(column)?.values(), slots)?;
            }
        }
        Ok(())
    }

    /// Takes the waiting rows unchanged if grouping would join only a few, or if the query keeps its
    /// records.
    pub(super) fn take_scattered(&mut self, interrupt: &Interrupt) -> Result<Option<NumberedRows>> {
        let rows = self.waiting.rows();
        let is_taken = if self.query.keeps_records {
            rows > 0
        } else {
            rows >= self.query.limits.pack_loose
                && tuning::are_scattered(&self.waiting, &self.query, self.gap, interrupt)?
        };
        Ok(is_taken.then(|| std::mem::take(&mut self.waiting)))
    }

    /// The waiting rows.
    pub(super) fn waiting(&mut self) -> &mut NumberedRows {
        &mut self.waiting
    }

    /// Merges partial sessions. `from` selects the slots in `states` and `rows`; it is parallel to
    /// `keys` and `extents`. Returns the slots that now contain the sessions.
    pub(super) fn merge(
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

    /// Adds last sessions of their keys again. `from` selects their slots in `sessions`; it is
    /// parallel to `keys`.
    pub(super) fn put_back(
        &mut self,
        keys: &[KeyId],
        sessions: &SessionColumns,
        from: &[Slot],
    ) -> Result<()> {
        if self.query.cut.is_none() {
            let extents = pick(&sessions.extents, Slot::numbers(from))?;
            let (states, rows) = (&sessions.states, sessions.rows.as_ref());
            return self.merge(keys, &extents, states, from, rows).map(drop);
        }
        let of_slots = from
            .iter()
            .map(|&slot| sessions.cut_sessions.sessions[slot]);
        let cut_sessions = &mut self.cut_sessions;
        let into = keys.iter().zip(of_slots);
        let into: Vec<Slot> = into.map(|(&key, own)| cut_sessions.put(key, own)).collect();
        self.states.resize(self.len());
        if let Some(rows) = &sessions.rows {
            self.rows.add_lists(rows, from, &into)?;
        }
        self.states.merge(&into, &sessions.states, from)
    }

    /// Takes all sessions and joins those that belong together. If sessions are cut, rows from
    /// `frontier` on keep waiting.
    pub(super) fn coalesce(
        &mut self,
        frontier: Option<Time>,
        interrupt: &Interrupt,
    ) -> Result<SessionColumns> {
        self.assign(frontier, interrupt)?;
        memory::room_for(self.len().saturating_mul(GROWN))?;
        let mut coalesced = self.sessions.coalesce(interrupt)?;
        let cut_sessions = std::mem::take(&mut self.cut_sessions);
        if self.query.cut.is_some() {
            let extents = cut_sessions.sessions.0.iter().map(CutSession::extent);
            coalesced.extents = extents.collect();
            coalesced.keys.clone_from(&cut_sessions.keys);
        }
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
            cut_sessions,
        })
    }

    /// The number of sessions.
    fn len(&self) -> usize {
        self.sessions.len() + self.cut_sessions.len()
    }

    /// The number of partial sessions and waiting rows.
    pub(super) fn rows(&self) -> usize {
        self.len() + self.waiting.rows()
    }
}
