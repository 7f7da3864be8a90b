//! Sliding windows by family of aggregate and records a window, beside Kafka's rule, which rewrites
//! every window that a record falls into. `cargo bench --features bench --bench sliding`; ids are
//! `who/records/aggregates/records a window`; 100 keys, in order.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    reason = "a bench fails by panic and takes what it needs"
)]

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "events.rs"]
mod events;
use events::{DISTANCE, Events, query, rows, run};

const EVENTS: usize = 200_000;
/// Kafka's rule is slow.
const FEW: usize = 100_000;
const KEYS: usize = 100;

const FAMILIES: [(&str, &str); 3] = [
    (
        "count sum",
        r#"[{"name": "rows", "function": "count"}, {"name": "sum", "function": "sum", "columns": ["clicks"]}]"#,
    ),
    (
        "min max",
        r#"[{"name": "min", "function": "min", "columns": ["amount"]}, {"name": "max", "function": "max", "columns": ["amount"]}]"#,
    ),
    (
        "float sum stddev",
        r#"[{"name": "sum", "function": "sum", "columns": ["amount"]}, {"name": "stddev", "function": "stddev", "columns": ["amount"]}]"#,
    ),
];

/// Windows with so many records on average.
fn windows(records: i64) -> String {
    format!(
        r#"{{"kind": "sliding", "difference": {}, "resolution": 1}}"#,
        records * DISTANCE
    )
}

/// Number of windows, and the sums of their counts and totals.
type Answer = (usize, i64, i64);

/// The records of a key by time, and its windows by start: count and sum.
type Kept = (Vec<(i64, i64)>, BTreeMap<i64, (i64, i64)>);

/// Kafka's `KStreamSlidingWindowAggregate` for records in order: count and sum of each window,
/// rewritten record by record.
fn kafka(events: &Events, difference: i64) -> Answer {
    let mut of_key: HashMap<i64, Kept> = HashMap::new();
    for ((&key, &time), &value) in events.users.iter().zip(&events.times).zip(&events.clicks) {
        let (records, windows) = of_key.entry(key).or_default();
        for (_, window) in windows.range_mut(time - difference..=time) {
            *window = (window.0 + 1, window.1 + value);
        }
        let from = records.partition_point(|record| record.0 < time - difference);
        let held = records[from..]
            .iter()
            .fold((1, value), |(count, sum), record| {
                (count + 1, sum + record.1)
            });
        windows.entry(time - difference).or_insert(held);
        if let Some(previous) = records
            .last()
            .map(|record| record.0)
            .filter(|&previous| previous < time && time <= previous + 1 + difference)
        {
            windows.entry(previous + 1).or_insert((1, value));
        }
        records.push((time, value));
    }
    let windows = of_key.values().flat_map(|(_, windows)| windows.values());
    windows.fold((0, 0, 0), |(windows, counts, sums), window| {
        (windows + 1, counts + window.0, sums + window.1)
    })
}

fn answer(batches: &[RecordBatch]) -> Answer {
    let total = |batch: &RecordBatch, column: usize| {
        batch
            .column(column)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .sum::<i64>()
    };
    let totals = |column: usize| batches.iter().map(|batch| total(batch, column)).sum();
    (rows(batches), totals(2), totals(3))
}

fn sliding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sliding");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let (events, few) = (
        Events::in_order(EVENTS, EVENTS / KEYS),
        Events::in_order(FEW, FEW / KEYS),
    );
    let (batches, few_batches) = (events.batches(), few.batches());
    for records in [10, 100, 1000] {
        let windows = windows(records);
        for (family, aggregates) in FAMILIES {
            let query = query("user", &windows, aggregates);
            let expected = rows(&run(&query, &batches));
            assert!(expected > EVENTS * 3 / 2, "{expected} windows");
            group.throughput(Throughput::Elements(EVENTS as u64));
            group.bench_function(format!("windrow/200k/{family}/{records}"), |bencher| {
                bencher.iter(|| assert_eq!(rows(&run(&query, &batches)), expected));
            });
        }
        if records < 1000 {
            let query = query("user", &windows, FAMILIES[0].1);
            let expected = answer(&run(&query, &few_batches));
            group.throughput(Throughput::Elements(FEW as u64));
            group.bench_function(format!("kafka/100k/count sum/{records}"), |bencher| {
                bencher.iter(|| assert_eq!(kafka(&few, records * DISTANCE), expected));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, sliding);
criterion_main!(benches);
