//! The sessions of a shard in update mode: a micro-batch in, changes and changed pages out.
//!
//! Each run of a segment has the sessions of a range of keys. A micro-batch reads the runs in whose
//! ranges its keys are, and those in which a session closes; it writes anew those of them that change
//! (copy on write). The pages are those of the record operator, which goes on from them, as this does
//! from its own.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::changed_segment::ChangedSegment;
use super::incoming::Incoming;
use super::key_names::each_sort_key;
use super::run_page::RunPage;
use super::segment_grid::SegmentGrid;
use super::shard_sessions::{Finished, ShardSessions, none_pushed, unfinished};
use super::shard_state::{ShardState, StoredRuns};
use super::updates::Updates;
use crate::batch::batch_operator::BatchOperator;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::change::Emit;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::format::page::{PageId, PageName, broken};
use crate::format::range_table::RangeTable;
use crate::format::stored_range::{ChangedPages, StoredRange};
use crate::format::touched::Touched;
use crate::plan::limits::Limits;
use crate::plan::spec::Spec;
use crate::record::snapshot::ChangedPage;
use crate::record::source_time::SourceTime;

/// The sessions of a shard between two micro-batches: what its head says.
pub struct SessionUpdates {
    state: ShardState,
    table: RangeTable,
    segments: SegmentGrid,
    /// The micro-batch between [`ShardSessions::push`] and [`ShardSessions::finish`], and the pages that
    /// it needs.
    pushed: Option<(Incoming, BTreeSet<PageName>)>,
}

/// A session as it was stored.
struct StoredSession {
    extent: Extent,
    page: PageId,
    /// The session that it belongs to now.
    slot: Slot,
}

/// The sessions that were read and those of a micro-batch, after it.
struct JoinedSessions {
    sessions: SessionColumns,
    /// Of each session whether the micro-batch has brought something of it.
    is_changed: Vec<bool>,
    stored: Vec<StoredSession>,
}

impl SessionUpdates {
    /// No sessions yet.
    ///
    /// # Errors
    ///
    /// As [`SessionRuns::new`](super::session_runs::SessionRuns::new), of update mode.
    pub fn new(spec: &Spec, input: &Schema) -> Result<Self> {
        let state = ShardState::new(spec, input, Emit::Update)?;
        let width = state.segment_width();
        Ok(Self {
            state,
            table: RangeTable::default(),
            segments: SegmentGrid { width, offset: 0 },
            pushed: None,
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.state.interrupt = interrupt;
        self
    }

    /// The same with other limits, which change no answer.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.state.limits = limits;
        self
    }

    /// The pages that a micro-batch needs, after which stream time has moved.
    fn needed(&self, incoming: &mut Incoming) -> Result<BTreeSet<PageName>> {
        let ShardState {
            query, sort_keys, ..
        } = &self.state;
        let sessions = &mut incoming.sessions;
        if let Some(candidates) = &incoming.candidates {
            sessions.intern(candidates.keys(query.keys.len()))?;
        }
        let keys: Vec<KeyId> = (0..sessions.keys().len() as u32).map(KeyId).collect();
        let mut touched = Touched::new(&self.table, self.state.close_time(), Time::MIN);
        each_sort_key(sort_keys, sessions, &keys, |key| touched.add(key))?;
        Ok(touched.names())
    }

    fn update(
        &mut self,
        incoming: Incoming,
        needed: &BTreeSet<PageName>,
        pages: &[&[u8]],
    ) -> Result<Finished> {
        let Incoming {
            mut sessions,
            candidates,
            ..
        } = incoming;
        let pages = self.state.pages(pages, needed)?;
        if let Some(candidates) = candidates {
            let opened: Vec<&RunPage> = pages.iter().collect();
            let late = candidates.add_in_time(&self.state.query, &opened, &[], &mut sessions)?;
            self.state.operator.counters.late += late;
        }
        let joined = self.join(&pages, &mut sessions)?;
        let stored = joined.stored.iter();
        let stored = stored.map(|session| (session.slot, session.extent.window()));
        let updates = Updates::new(&joined.sessions, &joined.is_changed, stored);
        let state = &self.state;
        let rows = updates.write(&state.query, &sessions, &joined.sessions, &state.interrupt)?;
        self.state.operator.counters.updates += updates.len() as u64;
        Ok((rows, self.write(&sessions, &joined, needed)?))
    }

    /// Joins what a micro-batch has brought with what is stored in pages.
    fn join(&self, pages: &[RunPage], sessions: &mut SessionTable) -> Result<JoinedSessions> {
        let interrupt = &self.state.interrupt;
        let partials = sessions.coalesce(interrupt)?;
        let mut stored = Vec::new();
        for page in pages {
            interrupt.check()?;
            let slots = sessions.add_partials(&page.block(self.state.gap)?)?;
            let own = page.extents()?.into_iter().zip(slots);
            stored.extend(own.map(|(extent, slot)| StoredSession {
                extent,
                page: page.name.id,
                slot,
            }));
        }
        let changed = sessions.add_sessions(&partials)?;
        let joined = sessions.coalesce(interrupt)?;
        for session in &mut stored {
            session.slot = joined.slot(session.slot);
        }
        let mut is_changed = vec![false; joined.extents.len()];
        for slot in changed {
            if let Some(is_changed) = is_changed.get_mut(joined.slot(slot).0 as usize) {
                *is_changed = true;
            }
        }
        Ok(JoinedSessions {
            sessions: joined,
            is_changed,
            stored,
        })
    }

    /// Closes sessions, and writes the runs in which one has changed or closed.
    fn write(
        &mut self,
        query: &SessionTable,
        joined: &JoinedSessions,
        needed: &BTreeSet<PageName>,
    ) -> Result<Vec<ChangedPage>> {
        let close = self.state.close_time();
        let JoinedSessions {
            sessions,
            is_changed,
            stored,
        } = joined;
        let has_changed = |session: &StoredSession| {
            is_changed.get(session.slot.0 as usize) == Some(&true)
                || session.extent.closed_before(close)
        };
        let pages = stored.chunk_by(|one, next| one.page == next.page);
        let pages = pages.filter(|page| page.iter().any(has_changed));
        let runs = pages.filter_map(|page| page.first()).map(|one| one.page);
        let runs: BTreeSet<(i64, u32)> = runs.map(|id| (id.segment, id.run)).collect();
        let mut segments: BTreeSet<i64> = runs.iter().map(|&(segment, _)| segment).collect();
        let mut kept = BTreeMap::<i64, Vec<u32>>::new();
        for ((row, extent), &is_changed) in (0..).zip(&sessions.extents).zip(is_changed) {
            if extent.closed_before(close) {
                self.state.operator.counters.windows_closed += 1;
                continue;
            }
            let segment = self.segments.of(extent.reach);
            if is_changed {
                segments.insert(segment);
            }
            kept.entry(segment).or_default().push(row);
        }
        self.state.operator.store_mut().close(close);
        let mut changed = ChangedPages::new();
        for segment in segments {
            let rows = kept.remove(&segment).unwrap_or_default();
            let ranges = self.table.segment(segment).iter();
            let has_changed = |stored: &StoredRange| runs.contains(&(segment, stored.range.run));
            let own_changed = ranges.map(has_changed).collect();
            let own = ChangedSegment {
                id: segment,
                rows,
                is_changed: own_changed,
            };
            self.state.interrupt.check()?;
            let writer = self.state.writer(query, sessions);
            own.write(is_changed, needed, &mut self.table, &writer, &mut changed)?;
        }
        self.state.finish(changed, StoredRuns::Ranges(&self.table))
    }
}

impl ShardSessions for SessionUpdates {
    fn restore(&mut self, head: &[u8]) -> Result<()> {
        let head = self.state.restore(head)?;
        if !head.runs.is_empty() {
            return Err(broken("its sessions are stored in parts"));
        }
        self.table = RangeTable::of(&head)?;
        Ok(())
    }

    fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(unfinished());
        }
        let mut incoming = self.state.read(packed, progress)?;
        let needed = self.needed(&mut incoming)?;
        let names = needed.iter().map(PageName::to_string).collect();
        self.pushed = Some((incoming, needed));
        Ok(names)
    }

    fn finish(&mut self, pages: &[&[u8]]) -> Result<Finished> {
        let (incoming, needed) = self.pushed.take().ok_or_else(none_pushed)?;
        let finished = self.update(incoming, &needed, pages);
        finished.map_err(|error| self.state.query.name_overflow(error, &[]))
    }

    fn counters(&self) -> Counters {
        self.state.operator.counters
    }

    fn windows_open(&self) -> u64 {
        self.table.open()
    }

    fn stream_time(&self) -> Option<Time> {
        self.state.operator.time().slowest().time
    }
}
