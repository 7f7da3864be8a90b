//! A stream of micro-batches of one shard, compared with a record operator that is never saved.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::packer::Packer;
use crate::core::operator::change::{Emit, Late};
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use crate::shard::shard_sessions::ShardSessions;
use crate::state::page::ChangedPage;
use crate::state::source_time::SourceTime;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{Event, batch, schema, spec_of};

pub(crate) const AGGREGATES: &str = r#"[{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},
    {"name":"low","function":"min","columns":["x"]}]"#;
const COUNTED: &str = r#"[{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},
    {"name":"low","function":"min","columns":["x"]},{"name":"windrow.records","function":"count"}]"#;

/// Runs with their own indexes and many compactions; ranges of few keys.
pub(crate) fn small() -> Limits {
    Limits {
        page_bytes: 600,
        index_rows: 2,
        segment_runs: 2,
        block_bytes: 200,
        ..Limits::default()
    }
}

/// Another grace now and then; some change the length of segments.
pub(crate) fn restarts() -> impl Strategy<Value = Option<i64>> {
    let graces = prop::sample::select(vec![0, 5, 15, 16, 30]);
    prop::option::weighted(0.06, graces)
}

pub(crate) type Pages = BTreeMap<String, Vec<u8>>;

/// Changes pages. It drops only existing pages.
pub(crate) fn apply(pages: &mut Pages, changed: Vec<ChangedPage>) {
    for (name, page) in changed {
        match page {
            Some(page) => drop(pages.insert(name, page)),
            None => assert!(pages.remove(&name).is_some(), "{name} is there"),
        }
    }
}

/// Key, window and three aggregates.
const FINAL: usize = 5;
/// And `op`, and `time`.
const CHANGE: usize = 7;

/// The first columns of windows as text, sorted, without those of late records.
fn shown(batches: &[RecordBatch], columns: usize) -> Vec<String> {
    let rows = batches.iter().flat_map(|batch| {
        let columns = (0..columns)
            .map(|column| batch.column(column))
            .collect::<Vec<_>>();
        let options = arrow_cast::display::FormatOptions::default().with_null("null");
        let ops = batch.column_by_name("op");
        let ops = ops.map(|ops| ops.as_string::<i32>().clone());
        (0..batch.num_rows())
            .filter(move |&row| ops.as_ref().is_none_or(|ops| ops.value(row) != "late"))
            .map(|row| {
                let cell = |array: &&Arc<dyn arrow_array::Array>| {
                    let shown = arrow_cast::display::ArrayFormatter::try_new(array, &options);
                    shown.unwrap().value(row).to_string()
                };
                columns.iter().map(cell).collect::<Vec<_>>().join(" ")
            })
            .collect::<Vec<_>>()
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

/// The packed blocks of the partial sessions of some rows.
pub(crate) fn packed(
    counted: &Spec,
    rows: &[Event],
    split: u32,
    limits: Limits,
) -> Vec<RecordBatch> {
    packed_by(Query::new(counted, &schema()).unwrap(), rows, split, limits)
}

fn packed_by(mut query: Query, rows: &[Event], split: u32, limits: Limits) -> Vec<RecordBatch> {
    query.limits = limits;
    let mut packer = Packer::new(Arc::new(query), split).unwrap();
    let mut blocks = packer.push(&batch(rows)).unwrap();
    blocks.extend(packer.finish().unwrap());
    blocks
}

pub(crate) fn joined(blocks: &[RecordBatch]) -> RecordBatch {
    let schema = crate::format::packed::schema();
    arrow_select::concat::concat_batches(&schema, blocks).unwrap()
}

pub(crate) struct Stream {
    pub(crate) spec: Spec,
    pub(crate) counted: Spec,
    limits: Limits,
    shard: u32,
    /// The record operator, which is never saved.
    reference: Operator,
    pub(crate) pages: Pages,
    /// Whether records come themselves, not as partial sessions.
    takes_records: bool,
    /// The pages that the last micro-batch needed.
    pub(crate) needed: Vec<String>,
}

impl Stream {
    pub(crate) fn new(windows: &str, limits: Limits, shard: u32) -> Self {
        Self::emitting(Emit::Close, windows, limits, shard)
    }

    pub(crate) fn emitting(emit: Emit, windows: &str, limits: Limits, shard: u32) -> Self {
        let more = r#","grace":15"#;
        let mut spec = spec_of(windows, AGGREGATES, more);
        let mut counted = spec_of(windows, COUNTED, more);
        (spec.emit, counted.emit) = (emit, emit);
        (spec.tick, counted.tick) = (None, None);
        (spec.shards, counted.shards) = (4, 1);
        Self {
            reference: Operator::new(&spec, &schema(), Vec::new()).unwrap(),
            spec,
            counted,
            limits,
            shard,
            pages: Pages::new(),
            takes_records: false,
            needed: Vec::new(),
        }
    }

    pub(crate) fn sessions(&self) -> ShardSessions {
        let mut sessions = ShardSessions::new(&self.spec, &schema(), self.shard).unwrap();
        sessions.state.limits = self.limits;
        if let Some(head) = self.pages.get("head") {
            sessions.restore(head).unwrap();
        }
        sessions
    }

    fn operator(&self, late: Late) -> Operator {
        let spec = Spec {
            late,
            ..self.spec.clone()
        };
        let mut operator = Operator::new(&spec, &schema(), Vec::new()).unwrap();
        if !self.pages.is_empty() {
            let pages: Vec<&[u8]> = self.pages.values().map(Vec::as_slice).collect();
            operator.restore(&pages).unwrap();
        }
        operator
    }

    /// The query comes back with another grace.
    pub(crate) fn restart(&mut self, grace: i64) {
        let pages = self.reference.pages().unwrap();
        self.spec.grace = Some(grace);
        self.reference = Operator::new(&self.spec, &schema(), Vec::new()).unwrap();
        let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
        self.reference.restore(&pages).unwrap();
    }

    /// The query keeps sessions after they have closed.
    pub(crate) fn keeping(mut self, until: i64) -> Self {
        (self.spec.until, self.counted.until) = (Some(until), Some(until));
        self.reference = Operator::new(&self.spec, &schema(), Vec::new()).unwrap();
        self
    }

    /// Records come themselves.
    pub(crate) fn taking_records(mut self, takes_records: bool) -> Self {
        self.takes_records = takes_records;
        self
    }

    /// Records have ends.
    pub(crate) fn with_ends(mut self, has_ends: bool) -> Self {
        let end = has_ends.then(|| "stop".to_owned());
        (self.spec.end, self.counted.end) = (end.clone(), end);
        self.reference = Operator::new(&self.spec, &schema(), Vec::new()).unwrap();
        self
    }

    /// The updates of the query have a pace.
    pub(crate) fn paced(mut self, every: Option<i64>) -> Self {
        if self.spec.emit == Emit::Update {
            (self.spec.every, self.counted.every) = (every, every);
            self.reference = Operator::new(&self.spec, &schema(), Vec::new()).unwrap();
        }
        self
    }

    /// A micro-batch: the rows of the record operator, and the rows of runs, or of an
    /// operator that continues their state.
    pub(crate) fn push(&mut self, rows: &[Event], by_operator: bool) -> (Vec<String>, Vec<String>) {
        let has_ends = self.spec.end.is_some();
        let moves = |row: &&Event| {
            let ends_well = !has_ends || row.ends_well();
            row.key.is_some() && row.gap.is_some_and(|gap| gap > 0) && ends_well
        };
        let is_taken =
            |row: &&Event| !row.tick && (!self.takes_records || moves(row) && row.time.is_some());
        let rows: Vec<Event> = rows.iter().filter(is_taken).cloned().collect();
        let (one, two) = rows.split_at(rows.len() / 2);
        let query = || match self.takes_records {
            true => Query::of_rows(&self.spec, &schema()).unwrap(),
            false => Query::new(&self.counted, &schema()).unwrap(),
        };
        let mut blocks = packed_by(query(), one, 0, self.limits);
        blocks.extend(packed_by(query(), two, 1, self.limits));
        let blocks = joined(&blocks);
        let latest = rows.iter().filter(moves).filter_map(|row| row.time).max();
        let progress: Vec<SourceTime> = latest
            .map(|time| SourceTime {
                input: 0,
                source: Source(0),
                time: Time(time),
            })
            .into_iter()
            .collect();
        let columns = match self.spec.emit {
            Emit::Close => FINAL,
            Emit::Update => CHANGE,
        };
        let records = batch(&rows);
        let pushed = self.reference.push_micro_batch(&records, None, &progress);
        let wanted = pushed.unwrap();
        let wanted = shown(&wanted, columns);
        if by_operator {
            // A late policy that comes and goes, which asks for the record operator.
            let mut operator = self.operator(Late::Emit);
            let pushed = operator.push_micro_batch(&records, None, &progress);
            let found = pushed.unwrap();
            let found = shown(&found, columns);
            apply(&mut self.pages, operator.changed_pages().unwrap());
            return (wanted, found);
        }
        let mut sessions = self.sessions();
        let names = if self.takes_records {
            let in_time = sessions.push_records_in_time(&blocks, &progress).unwrap();
            in_time.unwrap_or_else(|| sessions.push_records(&records, &progress).unwrap())
        } else {
            sessions.push(&blocks, &progress).unwrap()
        };
        let late = sessions.counters().late;
        let needed: Vec<&[u8]> = names
            .iter()
            .map(|name| self.pages[name].as_slice())
            .collect();
        let (rows, changed) = sessions.finish(&needed).unwrap();
        apply(&mut self.pages, changed);
        self.needed = names;
        let (own, reference) = (sessions.counters(), self.reference.counters());
        assert_eq!(own.records, reference.records);
        assert_eq!((own.late, own.behind), (reference.late, reference.behind));
        if self.takes_records {
            let left_out = sessions.take_left_out().unwrap();
            let left_out = left_out.map_or(0, |rows| rows.num_rows() as u64);
            assert_eq!(left_out, own.late - late);
        }
        assert_eq!(own.windows_closed, reference.windows_closed);
        assert_eq!(own.updates, reference.updates);
        assert_eq!(sessions.stream_time(), self.reference.stream_time());
        let (open, parts) = (self.reference.windows_open(), sessions.windows_open());
        match self.spec.emit {
            Emit::Close if self.spec.until.is_none() => {
                assert!(parts >= open && parts < 1_000, "{parts}");
            }
            _ => assert_eq!(parts, open),
        }
        (wanted, shown(&rows, columns))
    }

    /// Pushes records in micro-batches of these sizes, some of them by an operator or after a
    /// restart with another grace: rows and open windows are those of the record operator after
    /// each.
    pub(crate) fn follow(
        &mut self,
        mut records: &[Event],
        cuts: Vec<(usize, bool, Option<i64>)>,
    ) -> Result<(), TestCaseError> {
        for (size, by_operator, grace) in cuts.into_iter().cycle().take(300) {
            grace.into_iter().for_each(|grace| self.restart(grace));
            let (rows, others) = records.split_at(size.min(records.len()));
            records = others;
            let (wanted, found) = self.push(rows, by_operator);
            prop_assert_eq!(wanted, found);
            let (wanted, found) = self.open();
            prop_assert_eq!(wanted, found);
            if records.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The open windows of the record operator, and of an operator that has the pages.
    pub(crate) fn open(&self) -> (Vec<String>, Vec<String>) {
        let all = StoreQuery::Due {
            from: Time::MIN,
            to: Time::MAX,
        };
        let select = |operator: &Operator| {
            shown(&operator.select(all, &(None, None), false).unwrap(), FINAL)
        };
        (select(&self.reference), select(&self.operator(Late::Drop)))
    }
}
