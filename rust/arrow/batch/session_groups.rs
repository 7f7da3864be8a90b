//! Rows with key numbers to sessions with states: the part of a session query that knows no keys.

use std::iter::repeat;
use std::sync::Arc;

use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::slot::Slot;
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::session::batch::OpenSessions;
use crate::session::windows::Gap;
use crate::time::{Span, Time};
use crate::window::{Extent, Window};

/// Waiting rows that are enough where rows come in order, so that they stay in the caches.
const CALM_ROWS: usize = 1 << 14;

/// One key in so many is looked at, whether grouping pays.
const SAMPLED: u32 = 16;

/// Sessions that grow.
pub(crate) struct SessionGroups {
    query: Arc<Query>,
    gap: Gap,
    sessions: OpenSessions,
    states: Accumulators,
    waiting: KeyedRows,
}

/// Rows that wait for their sessions: the more rows at once, the better shuffled ones are grouped.
#[derive(Default)]
pub(crate) struct KeyedRows {
    rows: usize,
    /// With the keys of their rows.
    pub inputs: Vec<(Vec<KeyId>, Records)>,
}

impl KeyedRows {
    /// What is parallel to the rows of each input, one after the other.
    pub fn all<T: Copy>(&self, of: impl Fn(&(Vec<KeyId>, Records)) -> &[T]) -> Vec<T> {
        let mut all = Vec::with_capacity(self.rows);
        self.inputs
            .iter()
            .for_each(|input| all.extend_from_slice(of(input)));
        all
    }

    /// The key of each row, and how far it reaches.
    fn extents(&self, gap: Gap) -> impl Iterator<Item = (KeyId, Extent)> {
        self.inputs.iter().flat_map(move |(keys, input)| {
            let gaps = input.gaps().iter().copied().chain(repeat(gap.longest()));
            keys.iter()
                .zip(input.times())
                .zip(gaps)
                .map(|((&key, &time), gap)| (key, Extent::of(time, gap)))
        })
    }
}

/// Sessions taken out, parallel by slot.
pub(crate) struct SessionBatch {
    /// The key of each session.
    pub keys: Vec<KeyId>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
    /// The states of each session.
    pub states: Accumulators,
}

impl SessionBatch {
    /// The windows of slots.
    pub fn windows(&self, slots: &[Slot]) -> Vec<Window> {
        of(slots, &self.extents)
            .iter()
            .map(Extent::window)
            .collect()
    }
}

impl SessionGroups {
    /// No sessions yet.
    pub fn new(query: Arc<Query>, gap: Gap) -> Self {
        Self {
            gap,
            sessions: OpenSessions::default(),
            states: query.accumulators(),
            waiting: KeyedRows::default(),
            query,
        }
    }

    /// Takes rows in, whose keys are numbered.
    pub fn add(&mut self, keys: Vec<KeyId>, input: Records) {
        self.waiting.rows += input.rows();
        self.waiting.inputs.push((keys, input));
    }

    /// Works off what waits, as soon as that pays and at the latest when about `most` rows wait.
    pub fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        if self.waiting.rows < most.min(CALM_ROWS) {
            return Ok(());
        }
        if self.sessions.is_empty() && !self.sessions.is_shuffled() {
            self.sessions.foresee(self.waiting.extents(self.gap));
        }
        if self.sessions.is_shuffled() && self.waiting.rows < most {
            Ok(())
        } else {
            self.assign(interrupt)
        }
    }

    /// Gives the waiting rows their sessions.
    fn assign(&mut self, interrupt: &Interrupt) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let (keys, times) = (
            waiting.all(|(keys, _)| keys),
            waiting.all(|(_, input)| input.times()),
        );
        let gaps = || waiting.all(|(_, input)| input.gaps());
        let assigned = assigned(&mut self.sessions, self.gap, &keys, &times, gaps, interrupt)?;
        self.states.resize(self.sessions.len());
        let mut rest = assigned.as_slice();
        for (_, input) in &waiting.inputs {
            interrupt.check()?;
            let (slots, others) = rest
                .split_at_checked(input.rows())
                .ok_or(Error::Internal("each row has a slot"))?;
            rest = others;
            self.states.update(
                slots,
                input.times(),
                input.seq_nos(),
                &self.query.taken(&input.inputs()?),
            )?;
        }
        Ok(())
    }

    /// The waiting rows, where grouping them would join few: as records they are lighter than as
    /// partial sessions.
    ///
    /// The keys of every [`SAMPLED`]-th number are grouped to see.
    pub fn loose(&mut self, interrupt: &Interrupt) -> Result<Option<KeyedRows>> {
        if self.waiting.rows < self.query.limits.pack_loose {
            return Ok(None);
        }
        let keys = self.waiting.all(|(keys, _)| keys);
        let sampled: Vec<Slot> = Slot::below(keys.len())
            .into_iter()
            .zip(&keys)
            .filter(|(_, key)| key.0 % SAMPLED == 0)
            .map(|(row, _)| row)
            .collect();
        let (keys, mut trial) = (of(&sampled, &keys), OpenSessions::default());
        let times = of(&sampled, &self.waiting.all(|(_, input)| input.times()));
        let gaps = || of(&sampled, &self.waiting.all(|(_, input)| input.gaps()));
        assigned(&mut trial, self.gap, &keys, &times, gaps, interrupt)?;
        let few = 2 * trial.coalesce(interrupt)?.keys.len() > sampled.len();
        Ok(few.then(|| std::mem::take(&mut self.waiting)))
    }

    /// Puts partial sessions in: slots `from` of `states`, parallel to `keys` and `extents`.
    pub fn put(
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
    pub fn coalesce(&mut self, interrupt: &Interrupt) -> Result<SessionBatch> {
        self.assign(interrupt)?;
        let coalesced = self.sessions.coalesce(interrupt)?;
        let mut states = std::mem::replace(&mut self.states, self.query.accumulators());
        if let Some(moves) = coalesced.moves {
            let mut joined = states.fresh();
            joined.resize(coalesced.keys.len());
            joined.merge(&moves, &states, &Slot::below(moves.len()))?;
            states = joined;
        }
        Ok(SessionBatch {
            keys: coalesced.keys,
            extents: coalesced.extents,
            states,
        })
    }

    /// Number of partial sessions, and of waiting rows.
    pub fn held(&self) -> usize {
        self.sessions.len() + self.waiting.rows
    }
}

/// The sessions of rows; `own` are the rows' own gaps, where they have such.
fn assigned(
    sessions: &mut OpenSessions,
    gap: Gap,
    keys: &[KeyId],
    times: &[Time],
    own: impl FnOnce() -> Vec<Span>,
    interrupt: &Interrupt,
) -> Result<Vec<Slot>> {
    match gap {
        Gap::Fixed(gap) => sessions.assign(keys, times, gap, interrupt),
        Gap::Dynamic { .. } => sessions.assign_own(keys, times, &own(), interrupt),
    }
}

/// The entries of slots.
pub(crate) fn of<T: Copy>(slots: &[Slot], entries: &[T]) -> Vec<T> {
    slots
        .iter()
        .filter_map(|slot| entries.get(slot.0 as usize).copied())
        .collect()
}
