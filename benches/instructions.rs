//! Twelve fixed workloads of the core on one thread, whose instructions `make bench-check` counts.
//! `instructions NAME TIMES` prepares a workload and runs it so often: the difference between two
//! counts is the work alone. Without arguments each workload runs once. Each asserts its answer.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    reason = "a bench fails by panic and takes what it needs"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_select::concat::concat_batches;
use windrow::bench::{Packer, Query, ShardSessions, Source, SourceTime, Spec, Time, packed};

#[path = "events.rs"]
mod events;
use events::{DISTANCE, Events, GAP, Random, query, rows, run};

/// Events of a workload over a whole input.
const EVENTS: usize = 200_000;
/// Events of a workload of many users, half as many as events.
const OF_MANY: usize = 1_000_000;
/// Events of a workload over micro-batches, ten for each user. A micro-batch has 65,536.
const STREAMED: usize = 500_000;
/// The micro-batch that is measured. Sessions close in it.
const MEASURED: usize = 6;
/// A minute.
const GRACE: i64 = 60_000_000;
const SESSIONS: &str = r#"{"kind": "session", "gap": 300000000}"#;
const COUNT: &str = r#"{"name": "rows", "function": "count"}"#;
const OF_AMOUNT: &str = r#"{"name": "sum", "function": "sum", "columns": ["amount"]},
    {"name": "min", "function": "min", "columns": ["amount"]}, {"name": "max", "function": "max", "columns": ["amount"]}"#;
const UPDATE: &str = r#""update", "op": true"#;
/// Updates at a pace of five minutes.
const PACED: &str = r#""update", "op": true, "every": 300000000"#;
/// Finals, and the records in no window.
const LEFT_OUT: &str =
    r#""close", "left_out": {"record": [["amount", "amount"]], "columns": 5, "inputs": []}"#;
/// What travels with partial sessions of a stream.
const RECORDS: &str = r#"{"name": "windrow.records", "function": "count"}"#;

/// A prepared workload: each run gives the rows of its answer.
type Work = Box<dyn Fn() -> usize>;

/// The name of a workload, the rows of its answer, and what prepares it.
type Workload = (&'static str, usize, fn() -> Work);

const WORKLOADS: [Workload; 12] = [
    ("sessions-in-order-int64", 15_733, || {
        sessions("user", &Events::in_order(EVENTS, 100))
    }),
    ("sessions-shuffled-string", 15_733, || {
        sessions("name", &Events::in_order(EVENTS, 100).shuffled())
    }),
    ("sessions-many-keys", 949_150, || {
        sessions("user", &of_many_users())
    }),
    ("sessions-many-keys-shuffled", 949_150, || {
        sessions("user", &of_many_users().shuffled())
    }),
    ("sessions-start-when", 25_061, || {
        sessions_with(r#""begins": "begins""#)
    }),
    ("sessions-cut-on", 24_972, || {
        sessions_with(r#""cut_on": ["device"]"#)
    }),
    ("sessions-max-records", 28_142, || {
        sessions_with(r#""most": 10"#)
    }),
    ("sliding", 99_900, sliding),
    ("micro-batch-close", 4_576, || micro_batch(r#""close""#)),
    ("micro-batch-update", 68_184, || micro_batch(UPDATE)),
    ("micro-batch-paced", 57_892, || micro_batch(PACED)),
    ("micro-batch-left-out", 4_576, || micro_batch(LEFT_OUT)),
];

/// Sessions of all events, with count, sum, min and max.
fn sessions(key: &str, events: &Events) -> Work {
    let aggregates = format!("[{COUNT}, {OF_AMOUNT}]");
    let (query, batches) = (query(key, SESSIONS, &aggregates), events.batches());
    Box::new(move || rows(&run(&query, &batches)))
}

/// Events of three hours. Most users have one or two of them.
fn of_many_users() -> Events {
    let mut random = Random(3);
    let mut events = Events::in_order(OF_MANY, 100);
    let users = OF_MANY as u64 / 2;
    events.users.fill_with(|| random.below(users) as i64);
    events
}

/// The first sessions, which a rule ends as well. One record in twenty begins a session, or has
/// another value than the record of its user before it.
fn sessions_with(rule: &str) -> Work {
    let events = Events::in_order(EVENTS, 100);
    let mut random = Random(11);
    let mut devices = vec![0; EVENTS];
    let device = |user: &i64| {
        let device: &mut i64 = &mut devices[*user as usize];
        *device = (*device + i64::from(random.below(20) == 0)) % 7;
        *device
    };
    let device: Vec<i64> = events.users.iter().map(device).collect();
    let begins: Vec<bool> = device.iter().map(|_| random.below(20) == 0).collect();
    let mut from = 0;
    let with_columns = |batch: RecordBatch| {
        let own = from..from + batch.num_rows();
        from = own.end;
        let added: [(&str, ArrayRef); 2] = [
            (
                "device",
                Arc::new(Int64Array::from(device[own.clone()].to_vec())),
            ),
            ("begins", Arc::new(BooleanArray::from(begins[own].to_vec()))),
        ];
        let named = batch
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect::<Vec<_>>();
        let columns = named
            .iter()
            .map(String::as_str)
            .zip(batch.columns().iter().cloned());
        RecordBatch::try_from_iter(columns.chain(added)).unwrap()
    };
    let batches: Vec<RecordBatch> = events.batches().into_iter().map(with_columns).collect();
    let spec = format!(
        r#"{{"keys": ["user"], "time": "ts", "windows": {{"kind": "session", "gap": {GAP}, {rule}}},
            "aggregates": [{COUNT}, {OF_AMOUNT}], "shards": 32}}"#
    );
    let query = Query::new(&Spec::parse(&spec).unwrap(), &batches[0].schema()).unwrap();
    let query = Arc::new(query);
    Box::new(move || rows(&run(&query, &batches)))
}

/// Sliding windows of ten records, with the aggregates of a sweep: by subtraction, and by a deque.
fn sliding() -> Work {
    let difference = 10 * DISTANCE;
    let windows = format!(r#"{{"kind": "sliding", "difference": {difference}, "resolution": 1}}"#);
    let aggregates = format!(
        r#"[{COUNT}, {{"name": "clicks", "function": "sum", "columns": ["clicks"]}}, {OF_AMOUNT}]"#
    );
    let query = query("user", &windows, &aggregates);
    let batches = Events::in_order(EVENTS / 4, 500).batches();
    Box::new(move || rows(&run(&query, &batches)))
}

/// One micro-batch of a shard after some others: packs, reads the pages that it needs, joins and
/// closes sessions, and writes pages.
fn micro_batch(emit: &'static str) -> Work {
    let batches = Events::in_order(STREAMED, 10).batches().into_iter();
    let batches = batches.map(|batch| batch.project(&[0, 2, 4]).unwrap()); // the columns of the query
    let batches: Vec<RecordBatch> = batches.collect();
    let mut pages = BTreeMap::new();
    for batch in &batches[..MEASURED] {
        for (name, page) in push(emit, &pages, batch).1 {
            match page {
                Some(page) => drop(pages.insert(name, page)),
                None => drop(pages.remove(&name)),
            }
        }
    }
    let batch = batches[MEASURED].clone();
    Box::new(move || push(emit, &pages, &batch).0)
}

type Changed = Vec<(String, Option<Vec<u8>>)>;

/// The rows that a micro-batch gives, and the changed pages.
fn push(emit: &str, pages: &BTreeMap<String, Vec<u8>>, batch: &RecordBatch) -> (usize, Changed) {
    let spec = |aggregates: &str| {
        let spec = format!(
            r#"{{"keys": ["user"], "time": "ts", "windows": {SESSIONS}, "aggregates": [{aggregates}], "shards": 1,
                "grace": {GRACE}, "emit": {emit}}}"#
        );
        Spec::parse(&spec).unwrap()
    };
    let (schema, own) = (batch.schema(), spec(&format!("{COUNT}, {OF_AMOUNT}")));
    let query = if emit == LEFT_OUT {
        Query::of_rows(&own, &schema)
    } else {
        let counted = spec(&format!("{COUNT}, {OF_AMOUNT}, {RECORDS}"));
        Query::new(&counted, &schema)
    };
    let query = Arc::new(query.unwrap());
    let mut packer = Packer::new(query, 0).unwrap();
    let mut blocks = packer.push(batch).unwrap();
    blocks.extend(packer.finish().unwrap());
    let blocks = concat_batches(&packed::schema(), &blocks).unwrap();

    let mut shard = ShardSessions::new(&own, &schema, 0).unwrap();
    if let Some(head) = pages.get("head") {
        shard.restore(head).unwrap();
    }
    let progress = [progress(batch)];
    let needed = if emit == LEFT_OUT {
        let in_time = shard.push_records_in_time(&blocks, &progress);
        in_time.unwrap().unwrap()
    } else {
        shard.push(&blocks, &progress).unwrap()
    };
    let needed: Vec<&[u8]> = needed.iter().map(|name| pages[name].as_slice()).collect();
    let (changes, changed) = shard.finish(&needed).unwrap();
    (rows(&changes), changed)
}

/// Stream time at the end of a micro-batch, whose events are in order.
fn progress(batch: &RecordBatch) -> SourceTime {
    let times = batch.column(1).as_primitive::<TimestampMicrosecondType>();
    SourceTime {
        input: 0,
        source: Source(0),
        time: Time(times.value(times.len() - 1)),
    }
}

fn main() {
    assert_eq!(GAP, 300_000_000);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| match arguments.as_slice() {
        [only, times] if !only.starts_with('-') => {
            (only == name).then(|| times.parse::<usize>().unwrap())
        }
        _ => Some(1),
    };
    let mut wrong = Vec::new();
    for (name, expected, prepare) in WORKLOADS {
        if let Some(times) = chosen(name) {
            println!("{name} {times}");
            let work = prepare();
            let answers = (0..times).map(|_| work());
            wrong.extend(
                answers
                    .filter(|&rows| rows != expected)
                    .map(|rows| (name, rows)),
            );
        }
    }
    assert!(wrong.is_empty(), "wrong numbers of rows: {wrong:?}");
}
