//! The operators as records come: sessions and sliding windows one by one, and their records joined
//! many at once; and stream time of one source against that of many. `cargo bench --features bench --bench records`;
//! ids are `who/records/order`; count, sum, min and max of each window.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    reason = "a bench fails by panic and takes what it needs"
)]

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use windrow::bench::{
    Accumulators, BatchStates, Count, Counters, Extent, MinMax, Operator, Record, Result,
    SessionWindows, SlidingWindows, Source, Span, Spec, Sum, Time, WindowChange, WindowKind,
    WindowOperator,
};

#[path = "events.rs"]
mod events;
use events::{DISTANCE, Events, GAP, Random, query, rows, run};

const SESSIONS: usize = 1_000_000;
const SLIDING: usize = 200_000;
/// Records of a key.
const EACH: usize = 100;
/// Sources whose slowest one is stream time.
const MANY_SOURCES: u32 = 5_000;
/// Records in a sliding window.
const HELD: i64 = 10;
const GRACE: u64 = GAP as u64;

/// Events in order; "late", some of them come later than they happened: one in ten within the
/// grace, one in a hundred after it.
fn ordered(order: &str, count: usize) -> Events {
    let mut events = Events::in_order(count, EACH);
    if order == "in order" {
        return events;
    }
    let mut random = Random(3);
    for time in &mut events.times {
        match random.below(100) {
            0 => *time -= 4 * GAP + random.below(GAP as u64) as i64,
            1..11 => *time -= random.below(GRACE) as i64,
            _ => {}
        }
    }
    events
}

/// Feeds all records one by one; what was counted.
fn feed<K: WindowKind>(
    rule: K,
    sources: u32,
    events: &Events,
    names: &[[u8; 8]],
    arrivals: &[u64],
    inputs: &[ArrayRef],
) -> Counters {
    let mut accumulators = Accumulators::new([
        (Box::new(Count::default()) as _, 0..0),
        (Box::new(Sum::<i64>::new(0)) as _, 0..1),
        (Box::new(MinMax::<i64, false>::default()) as _, 0..1),
        (Box::new(MinMax::<i64, true>::default()) as _, 0..1),
    ]);
    let times = Time::slice(&events.times);
    let mut states = BatchStates::new(&mut accumulators, times, arrivals, inputs);
    let mut windows = WindowOperator::new(rule, 1).unwrap();
    let mut finals = 0;
    let mut out = |_: &[u8], _: WindowChange, _: &mut BatchStates<'_>| -> Result<()> {
        finals += 1;
        Ok(())
    };
    for (row, (name, &time)) in names.iter().zip(times).enumerate() {
        let record = Record {
            source: Source(row as u32 % sources),
            ..Record::of(name, Extent::of(time, Span(GAP as u64)), row as u32)
        };
        windows.push(record, &mut states, &mut out).unwrap();
    }
    windows.finish(&mut states, &mut out).unwrap();
    assert_eq!(finals, windows.counters().windows_closed);
    *windows.counters()
}

/// What a rule makes of the records, one by one. In order it is what a batch query makes of them.
fn one_by_one<K: WindowKind + Copy>(
    criterion: &mut Criterion,
    who: &str,
    windows: &str,
    rule: K,
    count: usize,
) {
    let mut group = criterion.benchmark_group(format!("{who} one by one"));
    group.throughput(Throughput::Elements(count as u64));
    for order in ["in order", "late"] {
        let events = ordered(order, count);
        let names: Vec<[u8; 8]> = events.users.iter().map(|user| user.to_be_bytes()).collect();
        let arrivals: Vec<u64> = (0..count as u64).collect();
        let inputs = [Arc::new(Int64Array::from(events.clicks.clone())) as ArrayRef];
        let counters = feed(rule, 1, &events, &names, &arrivals, &inputs);
        if order == "late" {
            assert!(counters.late > 0 && counters.windows_closed > 0);
        } else {
            let found = rows(&run(&query("user", windows, AGGREGATES), &events.batches())) as u64;
            assert_eq!(
                (counters.windows_closed, counters.late),
                (found, 0),
                "{who}"
            );
        }
        group.bench_function(format!("{count}/{order}"), |bencher| {
            bencher.iter(|| feed(rule, 1, &events, &names, &arrivals, &inputs))
        });
    }
    group.finish();
}

fn records(criterion: &mut Criterion) {
    let rule = SessionWindows::with_gap(Span(GAP as u64), Some(Span(GRACE)));
    one_by_one(criterion, "sessions", &sessions(), rule, SESSIONS);
    let rule = SlidingWindows::with_difference(Span((HELD * DISTANCE) as u64), Some(Span(GRACE)));
    one_by_one(criterion, "sliding", &sliding(), rule, SLIDING);
}

/// Records of one source, and the same records dealt to many: the same windows.
fn sources(criterion: &mut Criterion) {
    let rule = SessionWindows::with_gap(Span(GAP as u64), Some(Span(GRACE)));
    let events = ordered("in order", SESSIONS);
    let names: Vec<[u8; 8]> = events.users.iter().map(|user| user.to_be_bytes()).collect();
    let arrivals: Vec<u64> = (0..SESSIONS as u64).collect();
    let inputs = [Arc::new(Int64Array::from(events.clicks.clone())) as ArrayRef];
    let run = |sources| feed(rule, sources, &events, &names, &arrivals, &inputs);
    assert_eq!(run(1).windows_closed, run(MANY_SOURCES).windows_closed);
    let mut group = criterion.benchmark_group("sources");
    group.throughput(Throughput::Elements(SESSIONS as u64));
    for sources in [1, MANY_SOURCES] {
        group.bench_function(format!("{SESSIONS}/{sources}"), |bencher| {
            bencher.iter(|| run(sources))
        });
    }
    group.finish();
}

/// The operator over Arrow batches, with its records joined many at once or, as is asked for, one
/// by one: the same windows.
fn over_batches(criterion: &mut Criterion, who: &str, windows: &str, count: usize) {
    let mut group = criterion.benchmark_group(format!("{who} over batches"));
    group.throughput(Throughput::Elements(count as u64));
    for order in ["in order", "late"] {
        let batches = ordered(order, count).batches();
        for emit in ["close", "update"] {
            let mut closed = Vec::new();
            for (way, every) in [("joined", false), ("one by one", true)] {
                let made = || {
                    Operator::new(
                        &spec(windows, emit, every),
                        &batches[0].schema(),
                        Vec::new(),
                    )
                    .unwrap()
                };
                let run = |mut operator: Operator| {
                    let pushed: Vec<RecordBatch> = batches
                        .iter()
                        .flat_map(|batch| operator.push(batch).unwrap())
                        .collect();
                    let finals = operator.finish().unwrap();
                    (rows(&pushed) + rows(&finals), operator.counters())
                };
                let (told, counters) = run(made());
                assert!(told as u64 == counters.windows_closed || emit == "update");
                closed.push((counters.windows_closed, counters.late));
                group.bench_function(format!("{count}/{order}/{emit}/{way}"), |bencher| {
                    bencher.iter_batched(made, run, BatchSize::PerIteration);
                });
            }
            assert_eq!(closed[0], closed[1]);
        }
    }
    group.finish();
}

fn operator(criterion: &mut Criterion) {
    over_batches(criterion, "sessions", &sessions(), SESSIONS);
    over_batches(criterion, "sliding", &sliding(), SLIDING);
}

/// Sliding windows.
fn sliding() -> String {
    format!(
        r#"{{"kind": "sliding", "difference": {}, "resolution": 1}}"#,
        HELD * DISTANCE
    )
}

/// The windows of sessions.
fn sessions() -> String {
    format!(r#"{{"kind": "session", "gap": {GAP}}}"#)
}

const AGGREGATES: &str = r#"[{"name": "rows", "function": "count"}, {"name": "sum", "function": "sum", "columns": ["clicks"]},
    {"name": "min", "function": "min", "columns": ["clicks"]}, {"name": "max", "function": "max", "columns": ["clicks"]}]"#;

fn spec(windows: &str, emit: &str, every: bool) -> Spec {
    let op = emit == "update";
    let spec = format!(
        r#"{{"keys": ["user"], "time": "ts", "windows": {windows}, "aggregates": {AGGREGATES}, "shards": 1,
            "grace": {GRACE}, "op": {op}, "emit": "{emit}", "every_record": {every}}}"#
    );
    Spec::parse(&spec).unwrap()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    targets = records, sources, operator
}
criterion_main!(benches);
