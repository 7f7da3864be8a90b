//! Sessions with count, sum, min and max of a float: events per second by order and key, beside a
//! `HashMap` of the standard library. `cargo bench --features bench --bench sessions`; ids are
//! `who/events/key/order`; five-minute sessions of 12.8 events, but `many keys` has five events of
//! a user instead of a hundred.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    reason = "a bench fails by panic and takes what it needs"
)]

use std::collections::HashMap;
use std::hash::Hash;
use std::hint::black_box;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use windrow::bench::{Interrupt, KeyId, OpenSessions, Span, Time};

#[path = "events.rs"]
mod events;
use events::{Events, GAP, query, rows, run};

const EVENTS: usize = 1_000_000;
const WINDOWS: &str = r#"{"kind": "session", "gap": 300000000}"#;
/// The same, where the end of each event is its time.
const LASTING: &str = r#"{"kind": "session", "gap": 300000000}, "end": "ts""#;
/// Rules that end none of these sessions earlier.
const RULED: &str = r#"{"kind": "session", "gap": 300000000, "longest": 86400000000, "cut_on": ["user"], "most": 1000}"#;
const AGGREGATES: &str = r#"[
    {"name": "rows", "function": "count"}, {"name": "sum", "function": "sum", "columns": ["amount"]},
    {"name": "min", "function": "min", "columns": ["amount"]}, {"name": "max", "function": "max", "columns": ["amount"]}
]"#;

/// Start, end, count, sum, min and max of a session.
#[derive(Clone, Copy)]
struct Session(i64, i64, i64, f64, f64, f64);

impl Session {
    fn new(time: i64, amount: f64) -> Self {
        Self(time, time, 1, amount, amount, amount)
    }

    fn add(&mut self, time: i64, amount: f64) {
        *self = Self(
            self.0,
            time,
            self.2 + 1,
            self.3 + amount,
            self.4.min(amount),
            self.5.max(amount),
        );
    }
}

/// What one writes first for events in order: the open session of each key.
fn naive<K: Hash + Eq + Clone>(keys: &[K], events: &Events) -> Vec<(K, Session)> {
    let mut open: HashMap<K, Session> = HashMap::new();
    let mut closed = Vec::new();
    for ((key, &time), &amount) in keys.iter().zip(&events.times).zip(&events.amounts) {
        match open.get_mut(key) {
            Some(session) if time - session.1 <= GAP => session.add(time, amount),
            Some(session) => closed.push((
                key.clone(),
                std::mem::replace(session, Session::new(time, amount)),
            )),
            None => drop(open.insert(key.clone(), Session::new(time, amount))),
        }
    }
    closed.extend(open);
    closed
}

/// What one writes first for events in any order: the events of each key, sorted.
fn naive_sorted(events: &Events) -> Vec<(i64, Session)> {
    let mut of_key: HashMap<i64, Vec<(i64, f64)>> = HashMap::new();
    for ((&key, &time), &amount) in events.users.iter().zip(&events.times).zip(&events.amounts) {
        of_key.entry(key).or_default().push((time, amount));
    }
    let mut sessions = Vec::new();
    for (key, mut events) in of_key {
        events.sort_unstable_by_key(|event| event.0);
        let mut open = Session::new(events[0].0, events[0].1);
        for &(time, amount) in &events[1..] {
            if time - open.1 <= GAP {
                open.add(time, amount);
            } else {
                sessions.push((
                    key,
                    std::mem::replace(&mut open, Session::new(time, amount)),
                ));
            }
        }
        sessions.push((key, open));
    }
    sessions
}

/// Sums over all sessions: where two answers agree in these, they are the same.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    sessions: usize,
    starts: i128,
    squares: i128,
    rows: i64,
    cents: [i64; 3],
}

impl Answer {
    fn add(&mut self, Session(start, end, count, sum, min, max): Session) {
        self.sessions += 1;
        self.starts += i128::from(start);
        self.squares += i128::from(end - start).pow(2) * i128::from(count);
        self.rows += count;
        for (total, part) in self.cents.iter_mut().zip([sum, min, max]) {
            *total += (part * 100.0).round() as i64;
        }
    }

    fn of<K>(sessions: &[(K, Session)]) -> Self {
        let mut answer = Self::default();
        sessions
            .iter()
            .for_each(|&(_, session)| answer.add(session));
        answer
    }

    fn of_batches(batches: &[RecordBatch]) -> Self {
        let mut answer = Self::default();
        for batch in batches {
            let window = batch.column(1).as_struct();
            let bound = |place: usize| {
                window
                    .column(place)
                    .as_primitive::<TimestampMicrosecondType>()
            };
            let float = |place: usize| batch.column(place).as_primitive::<Float64Type>();
            let (starts, ends, counts) = (
                bound(0),
                bound(1),
                batch.column(2).as_primitive::<Int64Type>(),
            );
            let (sums, mins, maxs) = (float(3), float(4), float(5));
            for row in 0..batch.num_rows() {
                let extremes = (mins.value(row), maxs.value(row));
                answer.add(Session(
                    starts.value(row),
                    ends.value(row),
                    counts.value(row),
                    sums.value(row),
                    extremes.0,
                    extremes.1,
                ));
            }
        }
        answer
    }
}

fn sessions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sessions");
    group
        .throughput(Throughput::Elements(EVENTS as u64))
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    let shapes = [
        ("i64/in order", "user", Events::in_order(EVENTS, 100)),
        (
            "i64/shuffled",
            "user",
            Events::in_order(EVENTS, 100).shuffled(),
        ),
        ("string/in order", "name", Events::in_order(EVENTS, 100)),
        (
            "i64 many keys/in order",
            "user",
            Events::in_order(EVENTS, 5),
        ),
    ];
    for (shape, key, events) in &shapes {
        let (query, batches) = (query(key, WINDOWS, AGGREGATES), events.batches());
        let expected = Answer::of(&naive_sorted(events));
        assert_eq!(
            Answer::of_batches(&run(&query, &batches)),
            expected,
            "{shape}"
        );
        group.bench_function(format!("windrow/1M/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(rows(&run(&query, &batches)), expected.sessions));
        });
        let lasting = events::query(key, LASTING, AGGREGATES);
        group.bench_function(format!("windrow with ends/1M/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(rows(&run(&lasting, &batches)), expected.sessions));
        });
        let ruled = events::query(key, RULED, AGGREGATES);
        group.bench_function(format!("windrow with rules/1M/{shape}"), |bencher| {
            bencher.iter(|| assert_eq!(rows(&run(&ruled, &batches)), expected.sessions));
        });
        let id = format!("std/1M/{shape}");
        if shape.ends_with("shuffled") {
            group.bench_function(id, |bencher| {
                bencher.iter(|| assert_eq!(naive_sorted(events).len(), expected.sessions))
            });
        } else if *key == "name" {
            let names: Vec<String> = events
                .users
                .iter()
                .map(|user| format!("user-{user:08}"))
                .collect();
            assert_eq!(Answer::of(&naive(&names, events)), expected);
            group.bench_function(id, |bencher| {
                bencher.iter(|| assert_eq!(naive(&names, events).len(), expected.sessions))
            });
        } else {
            assert_eq!(Answer::of(&naive(&events.users, events)), expected);
            group.bench_function(id, |bencher| {
                bencher.iter(|| assert_eq!(naive(&events.users, events).len(), expected.sessions))
            });
        }
    }
    for (shape, events) in [("in order", &shapes[0].2), ("shuffled", &shapes[1].2)] {
        let expected = naive_sorted(events).len();
        let keys: Vec<KeyId> = events
            .users
            .iter()
            .map(|&user| KeyId(user as u32))
            .collect();
        let times = Time::slice(&events.times);
        group.bench_function(format!("assign/1M/{shape}"), |bencher| {
            bencher.iter(|| {
                let mut sessions = OpenSessions::default();
                let gap = Span(GAP as u64);
                black_box(
                    sessions
                        .assign(&keys, times, gap, &Interrupt::never())
                        .unwrap(),
                );
                assert_eq!(
                    sessions.coalesce(&Interrupt::never()).unwrap().keys.len(),
                    expected
                );
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sessions);
criterion_main!(benches);
