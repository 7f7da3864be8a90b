//! What a shard knows between two micro-batches, beside its runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::incoming::Incoming;
use super::run_page::RunPage;
use super::run_table::RunTable;
use super::run_writer::RunWriter;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::SeqNo;
use crate::core::aggregate::functions::count::COUNT;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::core::operator::change::Emit;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::format::head::{self, Head, PageCounts};
use crate::format::packed;
use crate::format::page::{Label, PageKind, PageName, broken};
use crate::format::range_table::RangeTable;
use crate::format::stored_range::ChangedPages;
use crate::keys::sort_key::SortKeys;
use crate::plan::fingerprint::Fingerprint;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::{AggregateSpec, Spec};
use crate::record::snapshot::ChangedPage;
use crate::record::source_time::{SourceTime, seen};
use crate::record::windows::Windows;

/// The runs of a state.
pub(super) enum StoredRuns<'a> {
    /// Of partial sessions, as in close mode.
    Parts(&'a RunTable),
    /// Of the sessions of some keys each, as in update mode.
    Ranges(&'a RangeTable),
}

/// The query of a shard, its stream time and its counters.
pub(super) struct ShardState {
    pub query: Arc<Query>,
    /// The same with the number of records of each partial session, as blocks have it.
    counted: Arc<Query>,
    pub gap: Gap,
    pub sort_keys: SortKeys,
    pub fingerprint: Fingerprint,
    /// Stream time and counters; it stores no session.
    pub operator: SessionOperator,
    seq_nos: SeqNo,
    pub limits: Limits,
    pub interrupt: Interrupt,
}

impl ShardState {
    /// No records yet, of a query that is emitted as `emit` says.
    pub fn new(spec: &Spec, input: &Schema, emit: Emit) -> Result<Self> {
        memory::keep_freed();
        let query = Query::new(spec, input)?;
        let is_plain = spec.takes_partials() && spec.emit == emit && spec.until.is_none();
        let (true, Windows::Sessions(operator)) = (is_plain, Windows::new(spec, &query, 1)?) else {
            return Err(Error::Format {
                what: "query",
                reason: format!(
                    "not one of sessions that are not kept, emitted in {emit:?} mode, whose records may come as \
                     partial sessions"
                ),
            });
        };
        let mut counted = spec.clone();
        let records = AggregateSpec::new("windrow.records", &COUNT, &[]);
        counted.aggregates.push(records);
        Ok(Self {
            gap: operator.windows.gap,
            sort_keys: SortKeys::new(&query.keys)?,
            fingerprint: Fingerprint::new(spec, &query)?,
            counted: Arc::new(Query::new(&counted, input)?),
            query: Arc::new(query),
            operator,
            seq_nos: 0,
            limits: Limits::default(),
            interrupt: Interrupt::never(),
        })
    }

    /// Goes on from the head of a saved state.
    pub fn restore(&mut self, head: &[u8]) -> Result<Head> {
        let label = Label::read(head)?;
        if label.form != PageKind::Head {
            return Err(broken("it is no head"));
        }
        let (head, progress) = Head::open(&label, head, &self.fingerprint)?;
        if head.width != self.segment_width() {
            return Err(broken("its segments have another length"));
        }
        self.seq_nos = head.seq_nos;
        self.operator
            .resume(progress, Time(head.closed), head.counters);
        Ok(head)
    }

    /// Takes the packed rows of a micro-batch, which are judged by the stream time before it; then
    /// stream time moves by `progress`.
    pub fn read(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Incoming> {
        self.operator.catch_up_time();
        let before = self.close_time();
        let mut incoming = Incoming {
            gap: self.gap,
            sessions: SessionTable::new(Arc::clone(&self.query), self.gap)?,
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
        self.operator.counters.records += incoming.records;
        self.operator.observe_together(seen(progress));
        Ok(incoming)
    }

    /// Reads pages, which are those that are needed, in any order.
    pub fn pages(&self, pages: &[&[u8]], needed: &BTreeSet<PageName>) -> Result<Vec<RunPage>> {
        let read = |bytes: &&[u8]| {
            self.interrupt.check()?;
            RunPage::read(&self.query, &self.fingerprint.hash, bytes)
        };
        let pages = pages.iter().map(read).collect::<Result<Vec<_>>>()?;
        let names: BTreeSet<PageName> = pages.iter().map(|page| page.name).collect();
        if names != *needed || pages.len() != needed.len() {
            return Err(broken(
                "pages are missing, or others than those that are needed",
            ));
        }
        Ok(pages)
    }

    /// Writes runs of some sessions.
    pub fn writer<'a>(
        &'a self,
        query: &'a SessionTable,
        sessions: &'a SessionColumns,
    ) -> RunWriter<'a> {
        RunWriter {
            sort_keys: &self.sort_keys,
            fingerprint: &self.fingerprint.hash,
            query,
            sessions,
            limits: &self.limits,
        }
    }

    /// Changed pages by name, and the head of a state that has these runs.
    pub fn finish(&self, changed: ChangedPages, runs: StoredRuns) -> Result<Vec<ChangedPage>> {
        let progress = self.operator.time().progress();
        let mut head = Head::new(
            progress,
            self.operator.store().closed(),
            self.segment_width(),
            self.seq_nos,
            self.operator.counters,
            PageCounts::new(),
        );
        match runs {
            StoredRuns::Parts(table) => (head.pages, head.runs) = (table.pages(), table.bounds()),
            StoredRuns::Ranges(table) => {
                (head.pages, head.ranges) = (table.pages(), table.ranges())
            }
        }
        let head = head.write(progress, &self.fingerprint)?;
        let changed = changed.into_iter();
        let pages = changed.map(|(name, page)| (name.to_string(), page));
        Ok(pages.chain([(head::NAME.into(), Some(head))]).collect())
    }

    /// What is due before this is closed.
    pub fn close_time(&self) -> Time {
        self.operator.time().slowest().close
    }

    /// Length of a segment.
    pub fn segment_width(&self) -> i64 {
        self.operator.store().segment_width()
    }
}
