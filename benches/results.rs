//! What happens to sessions after they are found: packing and merging them, and turning them into
//! Arrow.
//!
//! `cargo bench --features bench --bench results`; ids are `what/events/shape`. In `arrow` every event is a session,
//! so that results weigh most.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    reason = "a bench fails by panic and takes what it needs"
)]

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use windrow::bench::{Merger, Packer, Query, packed::unpack};

#[path = "events.rs"]
mod events;
use events::{Events, query, rows, run};

const EVENTS: usize = 500_000;
const FIVE_MINUTES: &str = r#"{"kind": "session", "gap": 300000000}"#;
const ONE_TICK: &str = r#"{"kind": "session", "gap": 1}"#;
const NUMBERS: &str = r#"[
    {"name": "rows", "function": "count"}, {"name": "sum", "function": "sum", "columns": ["amount"]},
    {"name": "min", "function": "min", "columns": ["amount"]}, {"name": "max", "function": "max", "columns": ["amount"]}
]"#;
const LIST: &str = r#"[{"name": "list", "function": "collect_list", "columns": ["clicks"]}]"#;

fn pack(query: &Arc<Query>, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let mut packer = Packer::new(Arc::clone(query), 0).unwrap();
    let mut packed: Vec<RecordBatch> = batches
        .iter()
        .flat_map(|batch| packer.push(batch).unwrap())
        .collect();
    packed.extend(packer.finish().unwrap());
    packed
}

/// The packed rows as a shuffle of Spark brings them.
fn shuffled(packed: &[RecordBatch]) -> RecordBatch {
    let mut rows: Vec<RecordBatch> = packed
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1)))
        .collect();
    rows.sort_by_key(|row| {
        unpack(row)
            .map(|rows| (rows[0].shard, rows[0].first))
            .unwrap()
    });
    concat_batches(&rows[0].schema(), &rows).unwrap()
}

fn merge(query: &Arc<Query>, packed: &RecordBatch) -> usize {
    let mut merger = Merger::new(query).unwrap();
    let mut left = merger.push(packed).unwrap();
    left.extend(merger.finish().unwrap());
    left.iter().map(|(_, windows)| windows.num_rows()).sum()
}

fn results(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("results");
    group
        .throughput(Throughput::Elements(EVENTS as u64))
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    let events = Events::in_order(EVENTS, 100);
    let batches = events.batches();
    for (shape, key, aggregates) in [
        ("i64", "user", NUMBERS),
        ("string", "name", NUMBERS),
        ("i64 collect_list", "user", LIST),
    ] {
        let sessions = query(key, FIVE_MINUTES, aggregates);
        let expected = rows(&run(&sessions, &batches));
        let packed = pack(&sessions, &batches);
        let bytes: usize = packed
            .iter()
            .flat_map(|packed| unpack(packed).unwrap())
            .map(|row| row.block.len())
            .sum();
        eprintln!("{shape}: {expected} sessions in {bytes} bytes of blocks");
        group.bench_function(format!("pack/500k/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(rows(&pack(&sessions, &batches)), rows(&packed)));
        });
        let shuffled = shuffled(&packed);
        group.bench_function(format!("merge/500k/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(merge(&sessions, &shuffled), expected))
        });

        let single = query(key, ONE_TICK, aggregates);
        let expected = rows(&run(&single, &batches));
        assert!(
            expected > EVENTS * 99 / 100,
            "nearly every event is a session"
        );
        group.bench_function(format!("arrow/500k/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(rows(&run(&single, &batches)), expected))
        });
    }
    group.finish();
}

criterion_group!(benches, results);
criterion_main!(benches);
