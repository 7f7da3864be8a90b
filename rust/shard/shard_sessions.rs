//! The sessions of a shard: a micro-batch in, rows and changed pages out.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use super::clock::ShardClock;
use super::incoming::{Incoming, MicroBatchRows, wrong};
use super::layout_parts::{self, PartsRead};
use super::layout_ranges::{self, JoinedSessions};
use super::micro_batch::MicroBatch;
use super::session_changes::SessionChanges;
use super::session_pace;
use super::shard_state::ShardState;
use crate::array::dictionary::unpacked_field;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::functions::count::COUNT;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::core::operator::change::Emit;
use crate::core::operator::counters::Counters;
use crate::core::operator::pace::Pace;
use crate::core::time::Time;
use crate::format::packed;
use crate::keys::sort_key::SortKeys;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::{AggregateSpec, RECORDS, Spec};
use crate::plan::state_query::StateQuery;
use crate::record::left_out::LeftOut;
use crate::record::windows::Windows;
use crate::state::page::{ChangedPage, PageName};
use crate::state::segment_table::{Layout, SegmentGrid};
use crate::state::snapshot::Snapshot;
use crate::state::source_time::{SourceTime, seen};
use crate::state::stored_run::ChangedPages;
use crate::state::stored_windows::StoredWindows;

/// The rows that a micro-batch emits, and the changed pages by name. `None` deletes a page.
pub type Finished = (Vec<RecordBatch>, Vec<ChangedPage>);

/// The sessions of a shard between two micro-batches. Only the contents of the head stay in memory.
pub struct ShardSessions {
    pub(super) state: ShardState,
    /// The query with the number of records as an additional last aggregate, like the blocks.
    counted: Arc<Query>,
    /// The columns of records.
    pub(super) columns: SchemaRef,
    layout: Layout,
    pushed: Option<MicroBatch>,
    /// The late records of the last micro-batch, if records came themselves.
    pub(super) left_out: Option<LeftOut>,
}

impl ShardSessions {
    /// Creates a shard without sessions. `shard` is its number.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] or [`Error::ColumnType`] for a spec that is inconsistent or does not fit
    /// the columns of `input`. [`Error::Format`] for a spec that is not of sessions or needs the
    /// records themselves.
    pub fn new(spec: &Spec, input: &Schema, shard: u32) -> Result<Self> {
        memory::keep_freed();
        let query = Query::new(spec, input)?;
        let (true, Windows::Sessions(operator)) =
            (spec.takes_partials(), Windows::new(spec, &query, 1)?)
        else {
            return Err(Error::Format {
                what: "query",
                reason: "not one of sessions whose records may come as partial sessions".into(),
            });
        };
        let clock = ShardClock::new(operator.kind, operator.pace().map(Pace::every));
        let is_appended = clock.windows.emit == Emit::Close && clock.windows.until.is_none();
        let (width, shards) = (clock.segment_width(), i64::from(query.shards));
        let (layout, offset) = if is_appended {
            let offset = (width / shards).saturating_mul(i64::from(shard) % shards);
            (Layout::Parts, offset)
        } else {
            (Layout::Ranges, 0)
        };
        let mut counted = spec.clone();
        let records = AggregateSpec::new(RECORDS, &COUNT, &[]);
        counted.aggregates.push(records);
        let columns = input.fields().iter().map(|field| unpacked_field(field));
        Ok(Self {
            counted: Arc::new(Query::new(&counted, input)?),
            columns: Arc::new(Schema::new(columns.collect::<Vec<_>>())),
            state: ShardState {
                sort_keys: SortKeys::new(&query.keys)?,
                snapshot: Snapshot::new(
                    StateQuery::new(spec, &query).fingerprint()?,
                    layout,
                    width,
                ),
                query: Arc::new(query),
                clock,
                grid: SegmentGrid { width, offset },
                limits: Limits::default(),
                interrupt: Interrupt::never(),
            },
            layout,
            pushed: None,
            left_out: None,
        })
    }

    /// Sets the interrupt that stops the shard.
    pub(crate) fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.state.interrupt = interrupt;
        self
    }

    /// Resumes from the head of a saved state.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for a head that is damaged or of another query.
    pub fn restore(&mut self, head: &[u8]) -> Result<()> {
        let (_, clock) = self.state.snapshot.open(head)?;
        self.state.clock.resume(clock);
        Ok(())
    }

    /// Takes the packed rows of a micro-batch. Stream time before the micro-batch decides which
    /// records are late; then `progress` moves it. Returns the names of the pages that
    /// [`Self::finish`] needs.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for blocks of another query, or if the previous micro-batch is not
    /// finished. Errors of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        self.push_rows(&MicroBatchRows::Packed(packed::unpack(packed)?), progress)
    }

    pub(super) fn push_rows(
        &mut self,
        rows: &MicroBatchRows<'_>,
        progress: &[SourceTime],
    ) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(wrong("the previous one is not finished"));
        }
        if self.state.clock.catch_up() {
            // Join parts first, so that no part closes alone.
            self.state.snapshot.read_all();
        }
        let (now, before) = (self.state.clock.now(), self.state.clock.horizon());
        let incoming = Incoming::read(
            rows,
            &self.state.query,
            &self.counted,
            self.state.clock.windows.gap,
            before.close,
            &self.state.interrupt,
        )?;
        self.state.clock.counters.records += incoming.records;
        self.state.clock.observe(seen(progress));
        let after = self.state.clock.horizon();
        let foreign = &self.state.snapshot.foreign;
        let (parts, needed) = if !foreign.is_empty() {
            let pages = foreign.runs();
            let names = pages.flat_map(|(segment, run)| run.names(segment));
            (None, names.collect())
        } else if self.layout == Layout::Parts {
            let closed = self.state.clock.closed();
            let (parts, names) = PartsRead::new(&self.state, &incoming, closed, after.close);
            (Some(parts), names)
        } else {
            (None, layout_ranges::needed(&self.state, &incoming, after)?)
        };
        let names = needed.iter().map(PageName::to_string).collect();
        self.pushed = Some(MicroBatch {
            incoming,
            now,
            before,
            parts,
            needed,
        });
        Ok(names)
    }

    /// Joins sessions and closes those that are due. `pages` are the pages named by [`Self::push`],
    /// in any order.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for unexpected or damaged pages, or without a micro-batch.
    /// [`Error::Overflow`] for a result that does not fit its type. Errors of the interrupt.
    pub fn finish(&mut self, pages: &[&[u8]]) -> Result<Finished> {
        let batch = self.pushed.take().ok_or_else(|| wrong("none was pushed"))?;
        self.close(batch, pages)
            .map_err(|error| self.state.query.name_overflow(error, &[], &[]))
    }

    fn close(&mut self, batch: MicroBatch, pages: &[&[u8]]) -> Result<Finished> {
        let MicroBatch {
            mut incoming,
            now,
            before,
            parts,
            needed,
        } = batch;
        let overflows = self.state.query.overflows();
        let (fingerprint, keys) = (
            &self.state.snapshot.fingerprint.hash,
            self.state.query.keys.len(),
        );
        let pages = StoredWindows::read_all(pages, &needed, fingerprint, keys)?;
        let mut rows = Vec::new();
        let changed = match &parts {
            Some(parts) => {
                let joined = parts.join(&self.state, &mut incoming, before.close, &pages)?;
                let (whole, segments, late) = joined;
                self.state.clock.count_late(late, incoming.before_close);
                self.close_parts(&incoming, &whole, &segments, parts, &pages, &mut rows)?
            }
            None => {
                let ids = needed.iter().map(|name| name.id).collect();
                self.state.snapshot.read(&ids)?;
                let joined = layout_ranges::join(&self.state, &mut incoming, before, pages)?;
                self.state
                    .clock
                    .count_late(joined.late, incoming.before_close);
                self.close_ranges(&incoming, joined, &mut rows)?
            }
        };
        self.state.clock.counters.overflows += self.state.query.overflows() - overflows;
        self.left_out = incoming.left_out(now);
        Ok((
            rows,
            self.state
                .snapshot
                .finish(changed, &self.state.clock.saved())?,
        ))
    }

    /// Emits the sessions of opened segments that close, and writes the others.
    fn close_parts(
        &mut self,
        incoming: &Incoming,
        whole: &SessionColumns,
        segments: &[i64],
        parts: &PartsRead,
        pages: &[StoredWindows],
        rows: &mut Vec<RecordBatch>,
    ) -> Result<ChangedPages> {
        let (mut finals, mut kept) = (Vec::new(), BTreeMap::<i64, Vec<u32>>::new());
        for ((row, extent), &segment) in (0..).zip(&whole.extents).zip(segments) {
            if parts.has_opened(segment) && self.state.clock.closes(extent) {
                finals.push(Slot(row));
            } else {
                kept.entry(segment).or_default().push(row);
            }
        }
        self.emit_finals(incoming, whole, &finals, rows)?;
        self.state.clock.close();
        parts.write(&mut self.state, &incoming.sessions, whole, kept, pages)
    }

    /// Emits the changes or final results of whole sessions, and writes changed sessions.
    fn close_ranges(
        &mut self,
        incoming: &Incoming,
        mut joined: JoinedSessions,
        rows: &mut Vec<RecordBatch>,
    ) -> Result<ChangedPages> {
        let hidden = joined.hidden.iter();
        let hidden = hidden.map(|hidden| (&hidden.sessions, hidden.slots.clone()));
        let all = Slot::below(joined.sessions.extents.len())?;
        for (sessions, mut slots) in hidden.chain([(&joined.sessions, all)]) {
            slots.retain(|slot| {
                let extent = sessions.extents.get(slot.0 as usize);
                extent.is_some_and(|extent| self.state.clock.closes(extent))
            });
            self.emit_finals(incoming, sessions, &slots, rows)?;
        }
        let table = &incoming.sessions;
        if self.state.clock.every.is_some() {
            self.emit_paced(table, &mut joined, rows)?;
        } else if self.state.clock.windows.emit == Emit::Update {
            let stored = joined.stored.iter();
            let stored = stored.map(|session| (session.slot, session.extent.window()));
            let changes = SessionChanges::new(&joined.sessions, &joined.is_changed, stored);
            self.emit_changes(table, &joined.sessions, &changes, rows)?;
        }
        self.state.clock.close();
        if self.layout == Layout::Ranges {
            return layout_ranges::write(&mut self.state, table, &joined);
        }
        layout_parts::write_all(&mut self.state, table, &joined.sessions)
    }

    /// Emits the changes that may leave at the pace of the query.
    fn emit_paced(
        &mut self,
        table: &SessionTable,
        joined: &mut JoinedSessions,
        rows: &mut Vec<RecordBatch>,
    ) -> Result<()> {
        let clock = &self.state.clock;
        if let Some(hidden) = &mut joined.hidden {
            let emissions = std::mem::take(&mut hidden.emissions);
            let windows = hidden.sessions.windows(&hidden.slots);
            let stored = hidden.slots.iter().copied().zip(windows).zip(emissions);
            let stored = stored.map(|((slot, window), emission)| (slot, window, emission));
            let mut is_changed = vec![false; hidden.sessions.extents.len()];
            let (changes, _) =
                session_pace::leaving(clock, &hidden.sessions, &mut is_changed, stored);
            self.emit_changes(table, &hidden.sessions, &changes, rows)?;
        }
        let emissions = std::mem::take(&mut joined.emissions);
        let stored = joined.stored.iter().zip(emissions);
        let stored =
            stored.map(|(session, emission)| (session.slot, session.extent.window(), emission));
        let (sessions, is_changed) = (&joined.sessions, &mut joined.is_changed);
        let clock = &self.state.clock;
        let (changes, emissions) = session_pace::leaving(clock, sessions, is_changed, stored);
        joined.emissions = emissions;
        self.emit_changes(table, &joined.sessions, &changes, rows)
    }

    fn emit_changes(
        &mut self,
        table: &SessionTable,
        sessions: &SessionColumns,
        changes: &SessionChanges,
        rows: &mut Vec<RecordBatch>,
    ) -> Result<()> {
        self.state.clock.counters.updates += changes.len() as u64;
        let interrupt = &self.state.interrupt;
        rows.extend(changes.write(&self.state.query, table, sessions, interrupt)?);
        Ok(())
    }

    /// Closes sessions. Emits them, except in update mode, which has emitted their changes already.
    fn emit_finals(
        &mut self,
        incoming: &Incoming,
        sessions: &SessionColumns,
        finals: &[Slot],
        rows: &mut Vec<RecordBatch>,
    ) -> Result<()> {
        self.state.clock.counters.windows_closed += finals.len() as u64;
        if self.state.clock.windows.emit == Emit::Update {
            return Ok(());
        }
        let mut emit = |batch| rows.push(batch);
        let table = &incoming.sessions;
        table.results(sessions, finals, &mut emit, &self.state.interrupt)
    }

    /// The counters.
    pub(crate) fn counters(&self) -> Counters {
        self.state.clock.counters
    }

    /// The number of open sessions after a micro-batch. An upper bound if sessions are stored in
    /// parts.
    pub(crate) fn windows_open(&self) -> u64 {
        self.state.snapshot.stored().open()
    }

    /// Stream time, in ticks of the time column.
    pub(crate) fn stream_time(&self) -> Option<Time> {
        self.state.clock.time()
    }
}
