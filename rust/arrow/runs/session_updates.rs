//! The sessions of a shard in update mode: a micro-batch in, changes and changed pages out.
//!
//! Each segment is one run, which is written anew when one of its sessions changes (copy on write).
//! The pages are those of the record operator, which goes on from them, as this does from its own.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::incoming::Incoming;
use super::run_page::RunPage;
use super::segment_grid::SegmentGrid;
use super::shard_sessions::{Finished, ShardSessions, none_pushed, unfinished};
use super::shard_state::{ChangedPages, ShardState};
use super::updates::Updates;
use crate::aggregate::slot::Slot;
use crate::arrow::batch::session_groups::ClosedSessions;
use crate::arrow::batch::sessions::SessionQuery;
use crate::arrow::format::head::RunBounds;
use crate::arrow::format::page::broken;
use crate::arrow::plan::spec::Spec;
use crate::arrow::stream::snapshot::ChangedPage;
use crate::arrow::stream::source_time::SourceTime;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::operator::change::Emit;
use crate::operator::counters::Counters;
use crate::time::Time;
use crate::window::Extent;

/// The sessions of a shard between two micro-batches: what its head says.
pub struct SessionUpdates {
    state: ShardState,
    segments: SegmentGrid,
    pushed: Option<Incoming>,
    /// Sessions that are not closed, after a micro-batch.
    open: u64,
}

/// A session as it was stored.
struct StoredSession {
    extent: Extent,
    segment: i64,
    /// The session that it belongs to now.
    slot: Slot,
}

/// All sessions after a micro-batch.
struct JoinedSessions {
    sessions: ClosedSessions,
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
        let mut state = ShardState::new(spec, input, Emit::Update)?;
        state.limits.index_rows = usize::MAX; // all pages are read: no index
        let width = state.segment_width();
        Ok(Self {
            state,
            segments: SegmentGrid { width, offset: 0 },
            pushed: None,
            open: 0,
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.state.interrupt = interrupt;
        self
    }

    fn update(&mut self, incoming: Incoming, pages: &[&[u8]]) -> Result<Finished> {
        let Incoming {
            mut sessions,
            candidates,
            ..
        } = incoming;
        let pages = self.state.pages(pages, &self.state.table.all().collect())?;
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
        Ok((rows, self.write(&sessions, &joined)?))
    }

    /// Joins what a micro-batch has brought with what is stored in pages.
    fn join(&self, pages: &[RunPage], sessions: &mut SessionQuery) -> Result<JoinedSessions> {
        let interrupt = &self.state.interrupt;
        let partials = sessions.coalesce(interrupt)?;
        let mut stored = Vec::new();
        for page in pages {
            interrupt.check()?;
            let slots = sessions.add_partials(&page.block(self.state.gap)?)?;
            let segment = page.name.id.segment;
            let own = page.extents()?.into_iter().zip(slots);
            stored.extend(own.map(|(extent, slot)| StoredSession {
                extent,
                segment,
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

    /// Closes sessions, and writes the segments in which one has changed or closed.
    fn write(&mut self, query: &SessionQuery, joined: &JoinedSessions) -> Result<Vec<ChangedPage>> {
        let close = self.state.close_time();
        let JoinedSessions {
            sessions,
            is_changed,
            stored,
        } = joined;
        let has_changed = |session: &&StoredSession| {
            is_changed.get(session.slot.0 as usize) == Some(&true)
                || session.extent.closed_before(close)
        };
        let changed = stored.iter().filter(has_changed);
        let mut segments: BTreeSet<i64> = changed.map(|session| session.segment).collect();
        let mut kept = BTreeMap::<i64, Vec<u32>>::new();
        self.open = 0;
        for ((row, extent), &is_changed) in (0..).zip(&sessions.extents).zip(is_changed) {
            if extent.closed_before(close) {
                self.state.operator.counters.windows_closed += 1;
                continue;
            }
            self.open += 1;
            let segment = self.segments.of(extent.reach);
            if is_changed {
                segments.insert(segment);
            }
            kept.entry(segment).or_default().push(row);
        }
        self.state.operator.store_mut().close(close);
        let mut changed = ChangedPages::new();
        for segment in segments {
            let removed = self.state.table.remove_from(segment, 0).into_iter();
            changed.extend(removed.map(|name| (name, None)));
            if let Some(rows) = kept.get(&segment) {
                let state = &mut self.state;
                state.append(segment, rows, query, sessions, &mut changed)?;
            }
        }
        self.state.finish(changed, RunBounds::new())
    }
}

impl ShardSessions for SessionUpdates {
    fn restore(&mut self, head: &[u8]) -> Result<()> {
        if !self.state.restore(head)?.runs.is_empty() {
            return Err(broken("its sessions are stored in parts"));
        }
        Ok(())
    }

    fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(unfinished());
        }
        self.pushed = Some(self.state.read(packed, progress)?);
        Ok(self
            .state
            .table
            .all()
            .map(|name| name.to_string())
            .collect())
    }

    fn finish(&mut self, pages: &[&[u8]]) -> Result<Finished> {
        let incoming = self.pushed.take().ok_or_else(none_pushed)?;
        let finished = self.update(incoming, pages);
        finished.map_err(|error| self.state.query.name_overflow(error, &[]))
    }

    fn counters(&self) -> Counters {
        self.state.operator.counters
    }

    fn windows_open(&self) -> u64 {
        self.open
    }

    fn stream_time(&self) -> Option<Time> {
        self.state.operator.time().slowest().time
    }
}
