//! The queries of the targets, and their saved states: those of `tests/vectors`, and others.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use arrow_array::{
    ArrayRef, BooleanArray, DurationMicrosecondArray, Float64Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};

use crate::batch::packer::Packer;
use crate::core::aggregate::functions::count::COUNT;
use crate::plan::query::Query;
use crate::plan::spec::{AggregateSpec, RECORDS, Spec};
use crate::record::open::clock::OpenClock;
use crate::record::operator::Operator;
use crate::shard::shard_sessions::ShardSessions;
use crate::state::page::{Label, PageName};

/// The aggregates of the pages in `tests/vectors`.
const FEW: &str = r#"{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},
    {"name":"latest","function":"last","columns":["x"]},{"name":"all","function":"collect_list","columns":["x"]}"#;
const CLOSES: &str = r#","grace":15,"late":"emit","op":true"#;
const UPDATES: &str = r#","grace":15,"emit":"update","op":true"#;
const PACED: &str = r#","grace":15,"emit":"update","every":7,"op":true"#;
const SESSIONS: &str = r#"{"kind":"session","gap":5000}"#;

/// One aggregate for each kind of state.
const MANY: &str = r#"{"name":"a","function":"mean","columns":["y"]},{"name":"b","function":"max","columns":["k"]},
    {"name":"c","function":"collect_set","columns":["k"]},{"name":"d","function":"first","columns":["k"]},
    {"name":"e","function":"stddev","columns":["y"]},{"name":"f","function":"kurtosis","columns":["y"]},
    {"name":"g","function":"corr","columns":["y","x"]},{"name":"h","function":"bit_xor","columns":["x"]},
    {"name":"i","function":"bool_and","columns":["tick"]},{"name":"j","function":"product","columns":["y"]},
    {"name":"l","function":"count_distinct","columns":["k"]},{"name":"m","function":"sum_distinct","columns":["x"]},
    {"name":"o","function":"median","columns":["y"]},{"name":"p","function":"mode","columns":["k"]},
    {"name":"q","function":"approx_count_distinct","columns":["k"],"accuracy":0.25},
    {"name":"r","function":"approx_percentile","columns":["y"],"percentage":[0.25,1],"accuracy":100},
    {"name":"s","function":"top_k","columns":["k"],"most":2},
    {"name":"t","function":"histogram_numeric","columns":["y"],"most":3},
    {"name":"u","function":"funnel","columns":["k"],"funnel":{"values":["a","b"],"within":20}},
    {"name":"v","function":"path","columns":["k"],"most":5},
    {"name":"w","function":"active_time","limit":3},{"name":"z","function":"active_runs","limit":3},
    {"name":"aa","function":"min_by","columns":["k","x"]},{"name":"bb","function":"collect_list","columns":["pair"]}"#;

/// A query, and a state of it.
pub(super) struct Saved {
    pub spec: Spec,
    pub query: Arc<Query>,
    /// The head comes first.
    pub pages: Vec<Vec<u8>>,
    /// The names of the pages; none for the head.
    pub names: Vec<Option<PageName>>,
    /// A table of open windows with the same windows.
    pub table: OnceLock<(Vec<RecordBatch>, OpenClock)>,
    /// The records as a packed row.
    pub packed: RecordBatch,
    /// The same, as those of a stream, which count their records.
    pub counted: RecordBatch,
}

impl Saved {
    fn new(keys: &str, windows: &str, aggregates: &[&str], more: &str) -> Self {
        let aggregates = aggregates.join(",");
        let json = format!(
            r#"{{"keys":[{keys}],"time":"ts","tick":"tick","shards":1,"windows":{windows},"aggregates":[{aggregates}]{more}}}"#
        );
        let spec = Spec::parse(&json).unwrap();
        let mut counted = spec.clone();
        let number = AggregateSpec::new(RECORDS, &COUNT, &[]);
        counted.aggregates.push(number);
        let mut operator = Operator::new(&spec, &records().schema(), Vec::new()).unwrap();
        operator.push(&records()).unwrap();
        Self {
            query: query(&spec),
            names: Vec::new(),
            pages: Vec::new(),
            table: OnceLock::new(),
            packed: packed(query(&spec)),
            counted: packed(query(&counted)),
            spec,
        }
        .with(operator.pages().unwrap())
    }

    /// The same query with another state.
    fn with(mut self, pages: Vec<Vec<u8>>) -> Self {
        let names = pages.iter().map(|page| Label::read(page).unwrap().name());
        self.names = names.map(Result::ok).collect();
        self.pages = pages;
        self
    }

    /// The same query with the state of a shard that stores parts of sessions.
    fn in_parts(self) -> Self {
        let mut shard = ShardSessions::new(&self.spec, &records().schema(), 0).unwrap();
        let mut pages = BTreeMap::new();
        for _ in 0..2 {
            let names = shard.push(&self.counted, &[]).unwrap();
            assert!(names.is_empty(), "nothing closes");
            pages.extend(shard.finish(&[]).unwrap().1);
        }
        let head = pages.remove("head").flatten();
        let pages = std::iter::once(head).chain(pages.into_values());
        self.with(pages.flatten().collect())
    }

    pub(super) fn operator(&self) -> Operator {
        Operator::new(&self.spec, &records().schema(), Vec::new()).unwrap()
    }

    /// The pages with these names that there are.
    pub(super) fn named(&self, names: &[String]) -> Vec<&[u8]> {
        let pages = self.names.iter().zip(&self.pages);
        let own = pages.filter(|(own, _)| own.is_some_and(|own| names.contains(&own.to_string())));
        own.map(|(_, page)| page.as_slice()).collect()
    }
}

fn query(spec: &Spec) -> Arc<Query> {
    Arc::new(Query::new(spec, &records().schema()).unwrap())
}

/// The records as a packed row.
fn packed(query: Arc<Query>) -> RecordBatch {
    let mut packer = Packer::new(query, 0).unwrap();
    packer.push_with_others(&records(), 1).unwrap();
    packer.finish().unwrap().remove(0)
}

macro_rules! vectors {
    ($($name:literal)*) => {
        vec![$(include_bytes!(concat!("../../tests/vectors/version-1/pages/", $name, ".arrows")).to_vec()),*]
    };
}

static SAVED: LazyLock<Vec<Saved>> = LazyLock::new(|| {
    let key = r#""k""#;
    let gaps = r#"{"kind":"session","gap_column":"gap","longest_gap":20}"#;
    let sliding = r#"{"kind":"sliding","difference":10,"resolution":1}"#;
    let cut = r#"{"kind":"session","gap":10,"cut_on":["x"],"most":4,"longest":25}"#;
    vec![
        Saved::new(key, SESSIONS, &[FEW], CLOSES)
            .with(vectors!("sessions/0" "sessions/1" "sessions/2")),
        Saved::new(key, gaps, &[FEW], CLOSES)
            .with(vectors!("dynamic/0" "dynamic/1" "dynamic/2" "dynamic/3" "dynamic/4")),
        Saved::new(key, sliding, &[FEW], CLOSES)
            .with(vectors!("sliding/0" "sliding/1" "sliding/2")),
        Saved::new(key, cut, &[FEW], r#","grace":15"#),
        Saved::new(key, SESSIONS, &[FEW], PACED),
        Saved::new(
            key,
            r#"{"kind":"session","gap":10}"#,
            &[FEW],
            r#","grace":15"#,
        )
        .in_parts(),
        Saved::new(r#""k","y","gap""#, SESSIONS, &[FEW, MANY], UPDATES),
    ]
});

/// All queries, and the number that the bytes of a target begin with.
pub(super) fn all() -> impl Iterator<Item = (u8, &'static Saved)> {
    (0..).zip(SAVED.iter())
}

/// The query that bytes begin with, and the other bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> Option<(&'static Saved, &[u8])> {
    let (&number, rest) = bytes.split_first()?;
    Some((&SAVED[usize::from(number) % SAVED.len()], rest))
}

/// Rows without the metadata of their bytes.
pub(super) fn bare(rows: &RecordBatch) -> RecordBatch {
    let schema = Schema::new(rows.schema_ref().fields().clone());
    RecordBatch::try_new(Arc::new(schema), rows.columns().to_vec()).unwrap()
}

/// Records with ties, nulls and a tick.
pub(super) fn records() -> RecordBatch {
    static RECORDS: LazyLock<RecordBatch> = LazyLock::new(|| {
        let keys = [
            Some("a"),
            Some("b"),
            Some("a"),
            Some("ab"),
            None,
            Some(""),
            Some("a"),
        ];
        let times = [100, 104, 107, 112, 113, 114, 113];
        let values = [Some(1), Some(2), None, Some(-3), Some(4), Some(5), Some(1)];
        let gaps = values.map(|value| value.map(|value: i64| value.abs()));
        let floats = values.map(|value| value.map(|value| value as f64 / 2.0));
        let pair = StructArray::from(vec![(
            Arc::new(Field::new("first", DataType::Float64, true)),
            Arc::new(Float64Array::from_iter(floats)) as ArrayRef,
        )]);
        let columns: [(&str, ArrayRef); 8] = [
            ("k", Arc::new(StringArray::from_iter(keys))),
            (
                "ts",
                Arc::new(TimestampMicrosecondArray::from_iter_values(times)),
            ),
            ("x", Arc::new(Int64Array::from_iter(values))),
            ("gap", Arc::new(DurationMicrosecondArray::from_iter(gaps))),
            (
                "tick",
                Arc::new(BooleanArray::from_iter(times.map(|time| Some(time == 114)))),
            ),
            ("input", Arc::new(Int64Array::from(vec![0; times.len()]))),
            ("y", Arc::new(Float64Array::from_iter(floats))),
            ("pair", Arc::new(pair)),
        ];
        let columns = columns
            .into_iter()
            .map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    });
    RECORDS.clone()
}
