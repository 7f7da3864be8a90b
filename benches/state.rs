//! A micro-batch among a million open windows: restore what it touches of a saved state, or all of it;
//! push it; and write what has changed. `cargo bench --features bench --bench state`; ids are `who/records/way`; count
//! and sum of each window, one window for each user before.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench fails by panic")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
use criterion::{Criterion, criterion_group, criterion_main};
use windrow::bench::{Operator, Source, SourceTime, Spec, Time};

const WINDOWS: i64 = 1_000_000;
const MINUTE: i64 = 60_000_000;
/// When the windows of all users begin, over five minutes.
const START: i64 = 1_767_225_600_000_000;

type Pages = BTreeMap<String, Vec<u8>>;

/// A record for each of these users, over five minutes from a time on.
fn records(users: impl Iterator<Item = i64> + Clone, from: i64) -> RecordBatch {
    let times = users
        .clone()
        .map(|user| from + user.wrapping_mul(7_919).rem_euclid(5 * MINUTE));
    let columns: [(&str, ArrayRef); 3] = [
        (
            "user",
            Arc::new(Int64Array::from_iter_values(users.clone())),
        ),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from_iter_values(times)),
        ),
        ("clicks", Arc::new(Int64Array::from_iter_values(users))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn spec(windows: &str) -> Spec {
    let spec = format!(
        r#"{{"keys": ["user"], "time": "ts", "windows": {windows}, "shards": 1, "grace": {MINUTE}, "op": true,
            "emit": "update", "aggregates": [{{"name": "rows", "function": "count"}},
            {{"name": "sum", "function": "sum", "columns": ["clicks"]}}]}}"#
    );
    Spec::parse(&spec).unwrap()
}

fn operator(spec: &Spec) -> Operator {
    let schema = records(0..0, 0).schema();
    Operator::new(spec, &schema, Vec::new()).unwrap()
}

/// Stream time when all windows are open.
fn progress() -> [SourceTime; 1] {
    [SourceTime {
        input: 0,
        source: Source(0),
        time: Time(START + 5 * MINUTE),
    }]
}

/// What a micro-batch gives and writes: rows of changes, and pages.
fn push(mut operator: Operator, batch: &RecordBatch) -> (usize, usize) {
    let rows = operator.push_micro_batch(batch, None, &progress()).unwrap();
    let pages = operator.changed_pages().unwrap();
    (rows.iter().map(RecordBatch::num_rows).sum(), pages.len())
}

fn whole(spec: &Spec, pages: &Pages, batch: &RecordBatch) -> (usize, usize) {
    let mut operator = operator(spec);
    let pages: Vec<&[u8]> = pages.values().map(Vec::as_slice).collect();
    operator.restore(&pages).unwrap();
    push(operator, batch)
}

fn touched(spec: &Spec, pages: &Pages, batch: &RecordBatch) -> (usize, usize) {
    let mut operator = operator(spec);
    let (head, keys) = (pages["head"].as_slice(), batch.project(&[0]).unwrap());
    let names = operator.touched(head, &keys, None, &progress()).unwrap();
    let names = names.unwrap();
    let read = names.iter().map(|name| pages[name].as_slice());
    let read: Vec<&[u8]> = [head].into_iter().chain(read).collect();
    operator.restore_touched(&read).unwrap();
    push(operator, batch)
}

fn state(criterion: &mut Criterion) {
    let kinds = [
        ("sessions", r#"{"kind": "session", "gap": 300000000}"#),
        (
            "sliding",
            r#"{"kind": "sliding", "difference": 300000000, "resolution": 1}"#,
        ),
    ];
    for (who, windows) in kinds {
        let spec = spec(windows);
        let mut filled = operator(&spec);
        let all = records(0..WINDOWS, START);
        filled.push_micro_batch(&all, None, &progress()).unwrap();
        let pages = filled.changed_pages().unwrap().into_iter();
        let pages: Pages = pages
            .filter_map(|(name, page)| Some((name, page?)))
            .collect();
        let mut group = criterion.benchmark_group(who);
        for count in [1_i64, 30, 1_000, 100_000] {
            let users = (0..count).map(|nth| (nth * 618_033 + 3).rem_euclid(WINDOWS));
            let batch = records(users, START + MINUTE);
            let (rows, written) = touched(&spec, &pages, &batch);
            let (all_rows, _) = whole(&spec, &pages, &batch);
            assert_eq!(rows, all_rows, "{who}");
            assert!(
                count > 1 || written <= 8,
                "{who}: {written} pages of {}",
                pages.len()
            );
            group.bench_function(format!("{count}/touched"), |bencher| {
                bencher.iter(|| touched(&spec, &pages, &batch))
            });
            group.bench_function(format!("{count}/whole"), |bencher| {
                bencher.iter(|| whole(&spec, &pages, &batch))
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    targets = state
}
criterion_main!(benches);
