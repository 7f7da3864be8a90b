//! The sessions of a shard in close mode: a micro-batch in, finals and changed pages out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::incoming::Incoming;
use super::late_candidates::LateCandidates;
use super::later_sessions::{LaterSessions, carry};
use super::run_page::RunPage;
use super::run_table::RunTable;
use super::segment_grid::SegmentGrid;
use super::shard_sessions::{Finished, ShardSessions, none_pushed, unfinished};
use super::shard_state::{ShardState, StoredRuns};
use crate::batch::batch_operator::BatchOperator;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::operator::change::Emit;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::format::block::BlockKind;
use crate::format::page::PageName;
use crate::format::stored_range::ChangedPages;
use crate::plan::limits::Limits;
use crate::plan::spec::Spec;
use crate::record::source_time::SourceTime;

/// The sessions of a shard between two micro-batches: what its head says.
pub struct SessionRuns {
    state: ShardState,
    table: RunTable,
    segments: SegmentGrid,
    pushed: Option<MicroBatch>,
}

/// A micro-batch between [`ShardSessions::push`] and [`ShardSessions::finish`].
struct MicroBatch {
    sessions: SessionTable,
    candidates: Option<LateCandidates>,
    /// The last segment that the close time has entered.
    last: i64,
    /// The pages that it needs.
    needed: BTreeSet<PageName>,
    /// Segments of many runs, and which run is the first one to be made one with those after it.
    compacted: Vec<(i64, usize)>,
    /// Whether something that is stored later may go on from what it has.
    looks: bool,
}

impl SessionRuns {
    /// No sessions yet, of a shard with a number.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Argument`] or [`crate::core::error::Error::ColumnType`] for a spec that does not
    /// go together with itself or the columns of `input`; [`crate::core::error::Error::Format`] for one that is
    /// not of sessions in close mode, keeps them, or needs the records themselves.
    pub fn new(spec: &Spec, input: &Schema, shard: u32) -> Result<Self> {
        let state = ShardState::new(spec, input, Emit::Close)?;
        let width = state.segment_width();
        let shards = i64::from(state.query.shards);
        Ok(Self {
            state,
            table: RunTable::default(),
            segments: SegmentGrid {
                width,
                offset: (width / shards).saturating_mul(i64::from(shard) % shards),
            },
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

    fn close(&mut self, batch: MicroBatch, pages: &[&[u8]]) -> Result<Finished> {
        let MicroBatch {
            mut sessions,
            candidates,
            last,
            needed,
            compacted,
            looks,
        } = batch;
        let pages = self.state.pages(pages, &needed)?;
        let (opened, later): (Vec<&RunPage>, Vec<&RunPage>) =
            pages.iter().partition(|page| page.name.id.segment <= last);
        let stored = if looks {
            LaterSessions::read(&later, &mut sessions)?
        } else {
            Vec::new()
        };
        if let Some(candidates) = candidates {
            let late =
                candidates.add_in_time(&self.state.query, &opened, &stored, &mut sessions)?;
            self.state.operator.counters.late += late;
        }
        for page in &opened {
            self.state.interrupt.check()?;
            sessions.add_block(BlockKind::Sessions, &page.block(self.state.gap)?)?;
        }
        let whole = sessions.coalesce(&self.state.interrupt)?;
        let reaches = whole.extents.iter().map(|extent| extent.reach);
        let mut segments: Vec<i64> = reaches.map(|reach| self.segments.of(reach)).collect();
        carry(&whole, last, &stored, &mut segments);

        let close = self.state.close_time();
        let (mut finals, mut kept) = (Vec::new(), BTreeMap::<i64, Vec<u32>>::new());
        for ((row, extent), &segment) in (0..).zip(&whole.extents).zip(&segments) {
            if segment <= last && extent.closed_before(close) {
                finals.push(Slot(row));
            } else {
                kept.entry(segment).or_default().push(row);
            }
        }
        let mut results = Vec::new();
        sessions.results(
            &whole,
            &finals,
            &mut |batch| results.push(batch),
            &self.state.interrupt,
        )?;
        self.state.operator.counters.windows_closed += finals.len() as u64;
        self.state.operator.store_mut().close(close);

        let mut changed = ChangedPages::new();
        changed.extend(
            self.table
                .remove_opened(last)
                .into_iter()
                .map(|name| (name, None)),
        );
        for (segment, from) in compacted {
            let pages = later.iter().copied().filter(|page| !page.name.is_index);
            let runs = pages.filter(|page| {
                page.name.id.segment == segment && page.name.id.run as usize >= from
            });
            self.compact(segment, from, runs, &mut changed)?;
        }
        for (segment, rows) in kept {
            self.append(segment, &rows, &sessions, &whole, &mut changed)?;
        }
        let runs = StoredRuns::Parts(&self.table);
        Ok((results, self.state.finish(changed, runs)?))
    }

    /// Adds a run of some sessions to a segment.
    fn append(
        &mut self,
        segment: i64,
        rows: &[u32],
        query: &SessionTable,
        sessions: &SessionColumns,
        changed: &mut ChangedPages,
    ) -> Result<()> {
        self.state.interrupt.check()?;
        let writer = self.state.writer(query, sessions);
        let (run, pages) = writer.write(segment, self.table.runs(segment), rows)?;
        self.table.push(segment, run);
        changed.extend(pages.into_iter().map(|(name, page)| (name, Some(page))));
        Ok(())
    }

    /// Makes the youngest runs of a segment one.
    fn compact<'a>(
        &mut self,
        segment: i64,
        from: usize,
        pages: impl Iterator<Item = &'a RunPage>,
        changed: &mut ChangedPages,
    ) -> Result<()> {
        let mut sessions = SessionTable::new(Arc::clone(&self.state.query), self.state.gap)?;
        for page in pages {
            self.state.interrupt.check()?;
            sessions.add_block(BlockKind::Sessions, &page.block(self.state.gap)?)?;
        }
        let whole = sessions.coalesce(&self.state.interrupt)?;
        let rows: Vec<u32> = (0..whole.extents.len() as u32).collect();
        let removed = self.table.remove_from(segment, from).into_iter();
        changed.extend(removed.map(|name| (name, None)));
        self.append(segment, &rows, &sessions, &whole, changed)
    }
}

impl ShardSessions for SessionRuns {
    fn restore(&mut self, head: &[u8]) -> Result<()> {
        self.table = RunTable::of(&self.state.restore(head)?);
        Ok(())
    }

    fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(unfinished());
        }
        let Incoming {
            sessions,
            candidates,
            least,
            ..
        } = self.state.read(packed, progress)?;
        let opened = self.segments.of(self.state.operator.store().closed());
        let last = self.segments.of(self.state.close_time()).max(opened);
        let looks = last > opened
            || candidates.is_some()
            || least.is_some_and(|least| self.segments.of(least) <= last);
        let most = self.state.limits.segment_runs;
        let compacted = self.table.to_compact(last, most);
        let mut needed: BTreeSet<PageName> = self.table.opened(last).collect();
        for &(segment, from) in &compacted {
            needed.extend(self.table.pages_from(segment, from));
        }
        if looks {
            needed.extend(self.table.indexes(last, self.segments.end(last)));
        }
        let names = needed.iter().map(PageName::to_string).collect();
        self.pushed = Some(MicroBatch {
            sessions,
            candidates,
            last,
            needed,
            compacted,
            looks,
        });
        Ok(names)
    }

    fn finish(&mut self, pages: &[&[u8]]) -> Result<Finished> {
        let batch = self.pushed.take().ok_or_else(none_pushed)?;
        let finished = self.close(batch, pages);
        finished.map_err(|error| self.state.query.name_overflow(error, &[]))
    }

    fn counters(&self) -> Counters {
        self.state.operator.counters
    }

    /// More than there are, where some are stored in parts.
    fn windows_open(&self) -> u64 {
        self.table.rows()
    }

    fn stream_time(&self) -> Option<Time> {
        self.state.operator.time().slowest().time
    }
}
