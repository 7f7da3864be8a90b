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
use super::run_writer::{NamedPage, RunWriter};
use super::segment_grid::SegmentGrid;
use crate::aggregate::SeqNo;
use crate::aggregate::slot::Slot;
use crate::arrow::batch::operator::BatchOperator;
use crate::arrow::batch::session_groups::ClosedSessions;
use crate::arrow::batch::sessions::SessionQuery;
use crate::arrow::format::block::BlockKind;
use crate::arrow::format::head::{self, Head};
use crate::arrow::format::packed;
use crate::arrow::format::page::{Label, PageKind, PageName, broken};
use crate::arrow::keys::sort_key::SortKeys;
use crate::arrow::plan::fingerprint::Fingerprint;
use crate::arrow::plan::limits::Limits;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::{AggregateSpec, Function, Spec};
use crate::arrow::stream::snapshot::ChangedPage;
use crate::arrow::stream::source_time::{SourceTime, seen};
use crate::arrow::stream::windows::Windows;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::operator::change::Emit;
use crate::operator::counters::Counters;
use crate::session::record::SessionOperator;
use crate::session::windows::Gap;
use crate::time::Time;

/// The sessions of a shard between two micro-batches: what its head says.
pub struct SessionRuns {
    query: Arc<Query>,
    /// The same with the number of records of each partial session, as blocks have it.
    counted: Arc<Query>,
    gap: Gap,
    sort_keys: SortKeys,
    fingerprint: Fingerprint,
    /// Stream time and counters; it stores no session.
    operator: SessionOperator,
    seq_nos: SeqNo,
    table: RunTable,
    segments: SegmentGrid,
    pushed: Option<MicroBatch>,
    limits: Limits,
    interrupt: Interrupt,
}

/// A micro-batch between [`SessionRuns::push`] and [`SessionRuns::finish`].
struct MicroBatch {
    sessions: SessionQuery,
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
    /// [`Error::Argument`], [`Error::ColumnType`] or [`Error::Format`] for a spec that does not go
    /// together with itself or the columns of `input`; [`Error::Format`] for one that is not of
    /// sessions in close mode, or needs the records themselves.
    pub fn new(spec: &Spec, input: &Schema, shard: u32) -> Result<Self> {
        memory::keep_freed();
        let query = Query::new(spec, input)?;
        let is_plain = spec.takes_partials() && spec.emit == Emit::Close && spec.until.is_none();
        let (true, Windows::Sessions(operator)) = (is_plain, Windows::new(spec, &query, 1)?) else {
            return Err(Error::Format {
                what: "query",
                reason: "only sessions that are emitted when they close, and not kept, are runs"
                    .into(),
            });
        };
        let mut counted = spec.clone();
        let records = AggregateSpec::new("windrow.records", Function::Count, &[]);
        counted.aggregates.push(records);
        let width = operator.store().segment_width();
        let shards = i64::from(query.shards);
        Ok(Self {
            gap: operator.windows.gap,
            sort_keys: SortKeys::new(&query.keys)?,
            fingerprint: Fingerprint::new(spec, &query)?,
            counted: Arc::new(Query::new(&counted, input)?),
            query: Arc::new(query),
            operator,
            seq_nos: 0,
            table: RunTable::default(),
            segments: SegmentGrid {
                width,
                offset: (width / shards).saturating_mul(i64::from(shard) % shards),
            },
            pushed: None,
            limits: Limits::default(),
            interrupt: Interrupt::never(),
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The same with other limits, which change no answer.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Goes on from the head of a saved state.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for a head that is damaged, of another query, or of segments of another
    /// length: such a state is restored by the record operator.
    pub fn restore(&mut self, head: &[u8]) -> Result<()> {
        let label = Label::read(head)?;
        if label.form != PageKind::Head {
            return Err(broken("it is no head"));
        }
        let (head, progress) = Head::open(&label, head, &self.fingerprint)?;
        if head.width != self.operator.store().segment_width() {
            return Err(broken("its segments have another length"));
        }
        self.table = RunTable::of(&head);
        self.seq_nos = head.seq_nos;
        let closed = Time(head.closed);
        self.operator.resume(progress, closed, head.counters);
        Ok(())
    }

    /// Takes the packed rows of a micro-batch, in which sources have come as far as `progress` says.
    /// Returns the names of the pages that [`Self::finish`] needs.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for blocks of another query and for a micro-batch before the last one is
    /// finished; those of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>> {
        if self.pushed.is_some() {
            return Err(Error::Format {
                what: "micro-batch",
                reason: "the one before it is not finished".into(),
            });
        }
        self.operator.catch_up_time();
        let before = self.operator.time().slowest().close;
        let mut incoming = Incoming {
            gap: self.gap,
            sessions: SessionQuery::new(Arc::clone(&self.query), self.gap)?,
            candidates: None,
            least: None,
            records: 0,
        };
        let rows = packed::unpack(packed)?;
        if rows.iter().any(|row| row.first < before) {
            incoming.add_behind(&rows, &self.query, &self.counted, before, &self.interrupt)?;
        } else {
            incoming.add(&rows, &self.query, &self.interrupt)?;
        }
        let Incoming {
            sessions,
            candidates,
            least,
            records,
            ..
        } = incoming;
        self.operator.counters.records += records;
        self.operator.observe_together(seen(progress));

        let opened = self.segments.of(self.operator.store().closed());
        let last = self.segments.of(self.operator.time().slowest().close);
        let last = last.max(opened);
        let looks = last > opened
            || candidates.is_some()
            || least.is_some_and(|least| self.segments.of(least) <= last);
        let compacted = self.table.to_compact(last, self.limits.segment_runs);
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

    /// Closes the sessions that stream time has passed: their results, in batches, and the pages that
    /// have changed, by name, without bytes where a page is no more. `pages` are those that
    /// [`Self::push`] has named, in any order.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for other pages and damaged ones, and without a micro-batch;
    /// [`Error::Overflow`] for a result that does not fit its type; those of the interrupt.
    pub fn finish(&mut self, pages: &[&[u8]]) -> Result<(Vec<RecordBatch>, Vec<ChangedPage>)> {
        let finished = self.close(pages);
        finished.map_err(|error| self.query.name_overflow(error, &[]))
    }

    fn close(&mut self, pages: &[&[u8]]) -> Result<(Vec<RecordBatch>, Vec<ChangedPage>)> {
        let Some(batch) = self.pushed.take() else {
            return Err(Error::Format {
                what: "micro-batch",
                reason: "none was pushed".into(),
            });
        };
        let MicroBatch {
            mut sessions,
            candidates,
            last,
            needed,
            compacted,
            looks,
        } = batch;
        let read = |bytes: &&[u8]| RunPage::read(&self.query, &self.fingerprint.hash, bytes);
        let pages = pages.iter().map(read).collect::<Result<Vec<_>>>()?;
        if !pages
            .iter()
            .map(|page| page.name)
            .collect::<BTreeSet<_>>()
            .eq(&needed)
            || pages.len() != needed.len()
        {
            return Err(broken(
                "pages are missing, or others than those that are needed",
            ));
        }
        let (opened, later): (Vec<&RunPage>, Vec<&RunPage>) =
            pages.iter().partition(|page| page.name.id.segment <= last);
        let stored = if looks {
            LaterSessions::read(&later, &mut sessions)?
        } else {
            Vec::new()
        };
        if let Some(candidates) = candidates {
            let late = candidates.add_in_time(&self.query, &opened, &stored, &mut sessions)?;
            self.operator.counters.late += late;
        }
        for page in &opened {
            self.interrupt.check()?;
            sessions.add_block(BlockKind::Sessions, &page.block(self.gap)?)?;
        }
        let whole = sessions.coalesce(&self.interrupt)?;
        let reaches = whole.extents.iter().map(|extent| extent.reach);
        let mut segments: Vec<i64> = reaches.map(|reach| self.segments.of(reach)).collect();
        carry(&whole, last, &stored, &mut segments);

        let close = self.operator.time().slowest().close;
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
            &self.interrupt,
        )?;
        self.operator.counters.windows_closed += finals.len() as u64;
        self.operator.store_mut().close(close);

        let mut changed = BTreeMap::<PageName, Option<Vec<u8>>>::new();
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
        let changed = changed.into_iter();
        let mut changed: Vec<ChangedPage> = changed
            .map(|(name, page)| (name.to_string(), page))
            .collect();
        changed.push((head::NAME.into(), Some(self.head()?)));
        Ok((results, changed))
    }

    /// Makes the youngest runs of a segment one.
    fn compact<'a>(
        &mut self,
        segment: i64,
        from: usize,
        pages: impl Iterator<Item = &'a RunPage>,
        changed: &mut BTreeMap<PageName, Option<Vec<u8>>>,
    ) -> Result<()> {
        let mut sessions = SessionQuery::new(Arc::clone(&self.query), self.gap)?;
        for page in pages {
            self.interrupt.check()?;
            sessions.add_block(BlockKind::Sessions, &page.block(self.gap)?)?;
        }
        let whole = sessions.coalesce(&self.interrupt)?;
        let rows: Vec<u32> = (0..whole.extents.len() as u32).collect();
        let removed = self.table.remove_from(segment, from).into_iter();
        changed.extend(removed.map(|name| (name, None)));
        self.append(segment, &rows, &sessions, &whole, changed)
    }

    /// Adds a run to a segment.
    fn append(
        &mut self,
        segment: i64,
        rows: &[u32],
        query: &SessionQuery,
        sessions: &ClosedSessions,
        changed: &mut BTreeMap<PageName, Option<Vec<u8>>>,
    ) -> Result<()> {
        self.interrupt.check()?;
        let writer = RunWriter {
            sort_keys: &self.sort_keys,
            fingerprint: &self.fingerprint.hash,
            query,
            sessions,
            index_rows: self.limits.index_rows,
        };
        let (run, pages) = writer.write(segment, self.table.runs(segment), rows)?;
        self.table.push(segment, run);
        changed.extend(
            pages
                .into_iter()
                .map(|(name, page): NamedPage| (name, Some(page))),
        );
        Ok(())
    }

    fn head(&self) -> Result<Vec<u8>> {
        let (pages, runs) = self.table.bounds();
        let progress = self.operator.time().progress();
        let store = self.operator.store();
        let mut head = Head::new(
            progress,
            store.closed(),
            store.segment_width(),
            self.seq_nos,
            *self.operator.counters(),
            pages,
        );
        head.runs = runs;
        head.write(progress, &self.fingerprint)
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        *self.operator.counters()
    }

    /// Sessions that are not closed; more where some are stored in parts.
    pub fn windows_open(&self) -> u64 {
        self.table.rows()
    }

    /// Stream time, in ticks of the time column.
    pub fn stream_time(&self) -> Option<Time> {
        self.operator.time().slowest().time
    }
}
