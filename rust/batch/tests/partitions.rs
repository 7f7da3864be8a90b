//! Which queries one thread runs without partitions.

use crate::batch::tests::query::{Row, batch, query};
use crate::batch::tuning::fits_caches;
use crate::input::read_counters::ReadCounters;
use crate::input::records::Records;
use crate::plan::limits::Limits;

const SESSIONS: &str = r#"{"kind": "session", "gap": 3}"#;

/// Whether one thread needs no partitions for rows of these keys and times.
fn fits(windows: &str, rows: impl Iterator<Item = (i64, i64)>) -> bool {
    let rows: Vec<Row> = rows
        .map(|(key, time)| Row {
            key: Some(key),
            name: None,
            time: Some(time),
            tick: None,
            value: Some(1),
        })
        .collect();
    let count = r#"[{"name": "rows", "function": "count"}]"#;
    let query = query(windows, r#"["key"]"#, count, 1, Limits::default());
    let step = Records::read(&query, &batch(&rows), 0, &mut ReadCounters::default());
    fits_caches(&query, &step.unwrap()).unwrap()
}

#[test]
fn the_caches_hold_the_sessions_of_some_16000_keys() {
    let keys = |count: i64| (0..25_000).map(move |row| (row % count, row));
    for count in [1, 20, 1000, 15_000] {
        assert!(fits(SESSIONS, keys(count)), "{count}");
    }
    for count in [18_000, 25_000] {
        assert!(!fits(SESSIONS, keys(count)), "{count}");
    }
}

#[test]
fn rows_that_are_sorted_before_they_are_grouped_need_partitions() {
    let in_order = || (0..1000).map(|row| (row % 7, row));
    assert!(fits(SESSIONS, in_order()));
    assert!(!fits(
        SESSIONS,
        (0..1000).map(|row| (row % 7, row * 389 % 1000))
    ));
    let cut = r#"{"kind": "session", "gap": 3, "most": 2}"#;
    let sliding = r#"{"kind": "sliding", "difference": 3, "resolution": 1}"#;
    for windows in [cut, sliding] {
        assert!(!fits(windows, in_order()), "{windows}");
    }
}
