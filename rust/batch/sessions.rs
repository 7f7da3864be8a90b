//! A session query: turns rows into partial sessions, and partial sessions into blocks or windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};

use super::batch_operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows};
use super::key_partition::{close_parts, distinct_keys};
use super::layout::session_records;
use super::partition::Partitioner;
use super::pending::PendingRows;
use super::session_groups::{SessionColumns, SessionGroups};
use super::shards::{self, SortedByShard};
use super::tuning;
use crate::array::halves::in_halves;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::memory;
use crate::core::session::session_windows::Gap;
use crate::core::sort::{order, pick};
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::format::partial_sessions::PartialSessions;
use crate::input::records::Records;
use crate::keys::KeyInterner;
use crate::plan::query::Query;

/// Rows that wait are looked at again when there are so many times as many.
const LOOK_AGAIN: usize = 4;

/// The operator of a session query.
pub(crate) struct SessionTable {
    query: Arc<Query>,
    gap: Gap,
    keys: KeyInterner,
    groups: SessionGroups,
    pending: PendingRows,
    /// How many pending rows were looked at to find whether their keys hardly repeat.
    looked_at: usize,
    hardly_repeat: bool,
}

impl SessionTable {
    /// Starts without rows.
    pub(crate) fn new(query: Arc<Query>, gap: Gap) -> Result<Self> {
        Ok(Self {
            keys: KeyInterner::new(&query.keys)?,
            groups: SessionGroups::new(Arc::clone(&query), gap),
            query,
            gap,
            pending: PendingRows::default(),
            looked_at: 0,
            hardly_repeat: false,
        })
    }

    /// Numbers the keys of the pending rows, which then wait for their sessions.
    fn number(&mut self) -> Result<()> {
        for mut input in self.pending.take() {
            // This drops the key columns, because rows may wait long.
            let keys = std::mem::take(&mut input.keys);
            let keys = self.numbers_of(&keys, input.rows())?;
            self.groups.add(keys, input);
        }
        Ok(())
    }

    /// Whether the pending rows are enough to number their keys. At most about `most` rows wait.
    fn is_enough(&self, most: usize) -> bool {
        self.pending
            .is_enough(most.min(self.query.limits.pack_loose))
    }

    /// Whether pending rows may wait without numbers, because their keys hardly repeat.
    fn may_wait(&mut self) -> Result<bool> {
        let (limits, rows) = (self.query.limits, self.pending.rows());
        let is_open = self.looked_at == 0 || self.hardly_repeat;
        if is_open && rows >= limits.pack_loose.max(LOOK_AGAIN * self.looked_at) {
            let mut partitioner = Partitioner::new(&self.query)?;
            self.hardly_repeat = 2 * distinct_keys(&self.pending, &mut partitioner)? > rows;
            self.looked_at = rows;
        }
        self.hardly_repeat &= self.pending.key_bytes() < limits.waiting_bytes;
        Ok(self.hardly_repeat)
    }

    /// Whether the keys of the pending rows hardly repeat. The next rows are looked at anew.
    fn take_hardly_repeat(&mut self) -> bool {
        self.looked_at = 0;
        std::mem::take(&mut self.hardly_repeat)
    }

    /// Takes the pending rows as records for blocks if their keys hardly repeat.
    fn take_pending(&mut self, interrupt: &Interrupt) -> Result<Option<ShardRows>> {
        if !self.take_hardly_repeat() {
            return Ok(None);
        }
        let keys = distinct_keys(&self.pending, &mut Partitioner::new(&self.query)?)?;
        let has_many = tuning::have_many_keys(self.pending.rows(), keys, &self.query, self.gap);
        if !self.query.keeps_records && !has_many {
            return Ok(None);
        }
        let rows = Records::concat(&self.pending.take())?;
        self.record_rows(&rows, interrupt).map(Some)
    }

    /// Rows as records for blocks.
    fn record_rows(&self, rows: &Records, interrupt: &Interrupt) -> Result<ShardRows> {
        let shards = shards::of_columns(&self.query, &rows.keys)?;
        let mut sorted = SortedByShard::new(&shards, rows.times(), interrupt)?;
        interrupt.check()?;
        let rows = rows.pick(&UInt32Array::from(std::mem::take(&mut sorted.rows)))?;
        let rows = session_records::write(&self.query, &rows)?;
        Ok(ShardRows::new(BlockKind::Records, rows, sorted))
    }

    /// All sessions as partial sessions for blocks.
    fn session_rows(&mut self, interrupt: &Interrupt) -> Result<ShardRows> {
        let sessions = self.groups.coalesce(None, interrupt)?;
        let starts: Vec<Time> = sessions.extents.iter().map(|extent| extent.start).collect();
        let sorted = self.sort(&sessions.keys, &starts, interrupt)?;
        let slots: Vec<Slot> = sorted.rows.iter().copied().map(Slot).collect();
        let partials = PartialSessions {
            keys: self.keys.columns(&pick(&sessions.keys, &sorted.rows)?)?,
            extents: pick(&sessions.extents, &sorted.rows)?,
            states: sessions.states.save(&slots),
        };
        let rows = partials.write(self.gap)?;
        Ok(ShardRows::new(BlockKind::Sessions, rows, sorted))
    }

    /// All sessions as partial sessions, in the columns of blocks. Sessions of a key are adjacent
    /// and sorted by start. No two of them join.
    pub(crate) fn partials(&mut self, interrupt: &Interrupt) -> Result<RecordBatch> {
        let sessions = self.coalesce(interrupt)?;
        let starts: Vec<Time> = sessions.extents.iter().map(|extent| extent.start).collect();
        let rows = order(&sessions.keys, &starts, interrupt)?;
        let slots: Vec<Slot> = rows.iter().copied().map(Slot).collect();
        PartialSessions {
            keys: self.keys.columns(&pick(&sessions.keys, &rows)?)?,
            extents: pick(&sessions.extents, &rows)?,
            states: sessions.states.save(&slots),
        }
        .write(self.gap)
    }

    /// Adds partial sessions. Returns the slot of each, valid until sessions are coalesced.
    pub(crate) fn add_partials(&mut self, partials: &PartialSessions) -> Result<Vec<Slot>> {
        let keys = self.numbers_of(&partials.keys, partials.extents.len())?;
        let states = self.query.accumulators().load(&partials.states)?;
        let from = Slot::below(partials.extents.len())?;
        self.groups
            .merge(&keys, &partials.extents, &states, &from, None)
    }

    /// Adds the given slots of sessions that were coalesced here, so their keys already have
    /// numbers.
    pub(crate) fn add_sessions(
        &mut self,
        sessions: &SessionColumns,
        from: &[Slot],
    ) -> Result<Vec<Slot>> {
        let (keys, extents) = (
            pick(&sessions.keys, Slot::numbers(from))?,
            pick(&sessions.extents, Slot::numbers(from))?,
        );
        let (states, rows) = (&sessions.states, sessions.rows.as_ref());
        self.groups.merge(&keys, &extents, states, from, rows)
    }

    /// Takes all sessions. No two sessions of a key join. Only the key numbers remain.
    pub(crate) fn coalesce(&mut self, interrupt: &Interrupt) -> Result<SessionColumns> {
        self.number()?;
        self.groups.coalesce(None, interrupt)
    }

    /// Numbers keys, which need not have sessions.
    pub(crate) fn intern(&mut self, keys: &[ArrayRef]) -> Result<Vec<KeyId>> {
        let rows = keys.first().map_or(0, Array::len);
        self.numbers_of(keys, rows)
    }

    /// The numbers of all known keys.
    pub(crate) fn key_ids(&self) -> Vec<KeyId> {
        (0..self.keys.len() as u32).map(KeyId).collect()
    }

    /// The key columns for these key numbers.
    pub(crate) fn key_columns(&self, keys: &[KeyId]) -> Result<Vec<ArrayRef>> {
        self.keys.columns(keys)
    }

    /// Emits the results of slots in batches.
    pub(crate) fn results(
        &self,
        sessions: &SessionColumns,
        slots: &[Slot],
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        for slots in slots.chunks(RESULT_ROWS) {
            let mut result = |range: Range<usize>| {
                interrupt.check()?;
                memory::headroom()?;
                let slots = slots.get(range).unwrap_or_default();
                let SessionColumns {
                    keys, states, rows, ..
                } = sessions;
                let keys = self.keys.columns(&pick(keys, Slot::numbers(slots))?)?;
                let mut lowered = states.lower(slots);
                if let (Ok(lowered), Some(rows)) = (&mut lowered, rows) {
                    lowered.columns.push(rows.column(slots));
                }
                let ends = sessions.ends(self.query.cut.as_ref(), slots);
                self.query
                    .result(keys, &sessions.windows(slots), &ends, lowered)
            };
            let results = in_halves(0..slots.len(), &mut result)?;
            results.into_iter().for_each(&mut *emit);
        }
        Ok(())
    }

    fn sort(&self, keys: &[KeyId], times: &[Time], interrupt: &Interrupt) -> Result<SortedByShard> {
        let shards = shards::of(&self.keys, &self.query, keys)?;
        SortedByShard::new(&shards, times, interrupt)
    }

    /// Numbers the keys of a block.
    fn numbers_of(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<KeyId>> {
        let mut ids = Vec::with_capacity(rows);
        self.keys.intern(keys, &mut ids)?;
        if ids.contains(&KeyId::NULL) {
            return Err(Error::Format {
                what: "block",
                reason: "a row has no key".into(),
            });
        }
        Ok(ids)
    }
}

impl BatchOperator for SessionTable {
    fn add(&mut self, input: Records) -> Result<()> {
        self.pending.add(input);
        Ok(())
    }

    fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        if !self.is_enough(most) {
            return Ok(());
        }
        self.number()?;
        self.groups.process(most, interrupt)
    }

    fn buffer(&mut self, most: usize, _interrupt: &Interrupt) -> Result<()> {
        if self.is_enough(most) && !(self.pending.rows() < most && self.may_wait()?) {
            self.number()?;
        }
        Ok(())
    }

    fn add_block(&mut self, kind: BlockKind, block: &RecordBatch) -> Result<()> {
        match kind {
            BlockKind::Records => {
                self.add(session_records::read(&self.query, block)?)?;
                self.buffer(usize::MAX, &Interrupt::never())
            }
            BlockKind::Sessions if self.query.cut.is_some() => Err(Error::Format {
                what: "block",
                reason: "sessions that are cut come as records".into(),
            }),
            BlockKind::Sessions => {
                let partials = PartialSessions::read(&self.query, self.gap, block)?;
                self.add_partials(&partials).map(drop)
            }
        }
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        let mut taken = Vec::with_capacity(2);
        taken.extend(self.take_pending(interrupt)?);
        self.number()?;
        if let Some(rows) = self.groups.take_scattered(interrupt)? {
            let keys = rows.keys();
            let rows = rows.joined_with(self.keys.columns(&keys)?)?;
            taken.push(self.record_rows(&rows, interrupt)?);
        }
        taken.push(self.session_rows(interrupt)?);
        Ok(taken)
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let hardly_repeat = self.take_hardly_repeat();
        if hardly_repeat && frontier.is_none() && self.groups.rows() == 0 {
            let (query, mut waiting) = (Arc::clone(&self.query), std::mem::take(&mut self.pending));
            let partitioner = &mut Partitioner::new(&query)?;
            return close_parts(&query, self, &mut waiting, partitioner, emit, interrupt);
        }
        self.number()?;
        let sessions = self.groups.coalesce(frontier, interrupt)?;
        let is_closed = |slot: &Slot| {
            let closes = |frontier| sessions.closed_before(&self.query, *slot, frontier);
            frontier.is_none_or(closes)
        };
        let (closed, open): (Vec<Slot>, Vec<Slot>) = Slot::below(sessions.extents.len())?
            .into_iter()
            .partition(is_closed);
        self.results(&sessions, &closed, emit, interrupt)?;
        // This forgets keys without an open session or a waiting row.
        let numbers = Slot::numbers(&open);
        let mut kept = pick(&sessions.keys, numbers)?;
        kept.extend(self.groups.waiting().keys());
        let columns = self.keys.columns(&kept)?;
        self.keys.clear();
        let mut keys = Vec::with_capacity(kept.len());
        self.keys.intern(&columns, &mut keys)?;
        let (keys, of_waiting) = keys
            .split_at_checked(open.len())
            .ok_or(Error::Internal("a session has no key"))?;
        self.groups.waiting().renumber(of_waiting);
        self.groups.put_back(keys, &sessions, &open)
    }

    fn rows(&self) -> usize {
        self.pending.rows() + self.groups.rows()
    }

    fn keys(&mut self) -> Option<&mut KeyInterner> {
        Some(&mut self.keys)
    }
}
