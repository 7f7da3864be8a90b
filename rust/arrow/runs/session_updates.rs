//! The sessions of a shard in update mode: a micro-batch in, changes and changed pages out.
//!
//! Each segment is one run, which is written anew when one of its sessions changes (copy on write).
//! The pages are those of the record operator, which goes on from them, as this does from its own.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::incoming::Incoming;
use super::run_page::RunPage;
use super::run_writer::RunWriter;
use super::segment_grid::SegmentGrid;
use super::shard_sessions::{Finished, ShardSessions, none_pushed, unfinished};
use super::shard_state::ShardState;
use super::updates::Updates;
use crate::aggregate::slot::Slot;
use crate::arrow::batch::session_groups::ClosedSessions;
use crate::arrow::batch::sessions::SessionQuery;
use crate::arrow::format::head::{self, PageCounts, RunBounds};
use crate::arrow::format::page::{PageId, PageName, broken};
use crate::arrow::plan::spec::Spec;
use crate::arrow::stream::snapshot::ChangedPage;
use crate::arrow::stream::source_time::SourceTime;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::operator::change::Emit;
use crate::operator::counters::Counters;
use crate::time::Time;
use crate::window::Extent;

/// The run of a segment.
const RUN: u32 = 0;

/// The sessions of a shard between two micro-batches: what its head says.
pub struct SessionUpdates {
    state: ShardState,
    pages: PageCounts,
    segments: SegmentGrid,
    pushed: Option<Incoming>,
    /// Sessions that are not closed, after a micro-batch.
    open: u64,
}

/// A stored session.
struct StoredSession {
    extent: Extent,
    segment: i64,
    /// Its number among the partial sessions.
    slot: Slot,
}

impl SessionUpdates {
    /// No sessions yet.
    ///
    /// # Errors
    ///
    /// As [`super::shard_sessions::new`].
    pub fn new(spec: &Spec, input: &Schema) -> Result<Self> {
        let state = ShardState::new(spec, input, Emit::Update)?;
        let width = state.segment_width();
        Ok(Self {
            state,
            pages: PageCounts::new(),
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

    /// The names of the pages of a segment.
    fn names(&self, segment: i64) -> impl Iterator<Item = PageName> {
        let counts = self.pages.get(&segment).into_iter().flatten();
        let pages = (RUN..)
            .zip(counts)
            .flat_map(|(run, &count)| (0..count).map(move |number| (run, number)));
        pages.map(move |(run, number)| PageName {
            id: PageId {
                segment,
                run,
                number,
            },
            is_index: false,
        })
    }

    /// The names of all pages.
    fn all_names(&self) -> BTreeSet<PageName> {
        self.pages
            .keys()
            .flat_map(|&segment| self.names(segment))
            .collect()
    }

    fn update(&mut self, incoming: Incoming, pages: &[&[u8]]) -> Result<Finished> {
        let Incoming {
            mut sessions,
            candidates,
            ..
        } = incoming;
        let pages = self.state.pages(pages, &self.all_names())?;
        if let Some(candidates) = candidates {
            let opened: Vec<&RunPage> = pages.iter().collect();
            let late = candidates.add_in_time(&self.state.query, &opened, &[], &mut sessions)?;
            self.state.operator.counters.late += late;
        }
        let partials = sessions.coalesce(&self.state.interrupt)?;
        let mut stored = Vec::new();
        for page in &pages {
            self.state.interrupt.check()?;
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
        let whole = sessions.coalesce(&self.state.interrupt)?;
        for session in &mut stored {
            session.slot = whole.slot(session.slot);
        }
        let mut is_changed = vec![false; whole.extents.len()];
        for slot in changed {
            if let Some(is_changed) = is_changed.get_mut(whole.slot(slot).0 as usize) {
                *is_changed = true;
            }
        }

        let updates = Updates::new(
            &whole,
            &is_changed,
            stored
                .iter()
                .map(|session| (session.slot, session.extent.window())),
        );
        self.state.operator.counters.updates += updates.len() as u64;
        let rows = updates.write(&self.state.query, &sessions, &whole, &self.state.interrupt)?;
        let close = self.state.close_time();
        let mut segments: BTreeSet<i64> = stored
            .iter()
            .filter(|session| {
                let is_changed = is_changed.get(session.slot.0 as usize);
                is_changed == Some(&true) || session.extent.closed_before(close)
            })
            .map(|session| session.segment)
            .collect();
        let mut kept = BTreeMap::<i64, Vec<u32>>::new();
        let mut open = 0;
        for ((row, extent), &is_changed) in (0..).zip(&whole.extents).zip(&is_changed) {
            if extent.closed_before(close) {
                continue;
            }
            open += 1;
            let segment = self.segments.of(extent.reach);
            if is_changed {
                segments.insert(segment);
            }
            kept.entry(segment).or_default().push(row);
        }
        self.state.operator.counters.windows_closed += whole.extents.len() as u64 - open;
        self.state.operator.store_mut().close(close);
        self.open = open;
        let mut changed = Vec::new();
        for segment in segments {
            let rows = kept.remove(&segment).unwrap_or_default();
            self.write(segment, &rows, &sessions, &whole, &mut changed)?;
        }
        let head = self.state.head(self.pages.clone(), RunBounds::new())?;
        changed.push((head::NAME.into(), Some(head)));
        Ok((rows, changed))
    }

    /// Writes the pages of a segment anew.
    fn write(
        &mut self,
        segment: i64,
        rows: &[u32],
        query: &SessionQuery,
        sessions: &ClosedSessions,
        changed: &mut Vec<ChangedPage>,
    ) -> Result<()> {
        self.state.interrupt.check()?;
        let before: Vec<PageName> = self.names(segment).collect();
        self.pages.remove(&segment);
        if !rows.is_empty() {
            let writer = RunWriter {
                sort_keys: &self.state.sort_keys,
                fingerprint: &self.state.fingerprint.hash,
                query,
                sessions,
                index_rows: usize::MAX,
            };
            let (run, pages) = writer.write(segment, RUN as usize, rows)?;
            self.pages.insert(segment, vec![run.pages]);
            let pages = pages.into_iter();
            changed.extend(pages.map(|(name, page)| (name.to_string(), Some(page))));
        }
        let known: BTreeSet<PageName> = self.names(segment).collect();
        let gone = before.into_iter().filter(|name| !known.contains(name));
        changed.extend(gone.map(|name| (name.to_string(), None)));
        Ok(())
    }
}

impl ShardSessions for SessionUpdates {
    fn restore(&mut self, head: &[u8]) -> Result<()> {
        let head = self.state.restore(head)?;
        if !head.runs.is_empty() {
            return Err(broken("its sessions are stored in parts"));
        }
        self.pages = head.pages;
        Ok(())
    }

    fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(unfinished());
        }
        self.pushed = Some(self.state.read(packed, progress)?);
        Ok(self.all_names().iter().map(PageName::to_string).collect())
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
