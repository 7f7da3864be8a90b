//! Whole queries: rows by way of packers, blocks and mergers give what one run gives, however they
//! are cut.

mod cuts;
mod ends;
mod rows;
mod shuffle;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::plan::limits::Limits;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field};
use proptest::prelude::*;

use rows::{AGGREGATES, limits, rows};
pub(crate) use rows::{Row, batch, query, schema};
use shuffle::{cut, merged, packed, run};
pub(crate) use shuffle::{single_rows, sort};

use crate::core::aggregate::tests::trial::Random;
use crate::core::session::tests::session_batch::{oracle_dynamic, oracle_sessions};
use crate::core::sliding::tests::plan::oracle_windows;

/// A result as text, one line a row, in order of the text.
fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("null");
    let window = DataType::Struct(
        ["start", "end"]
            .map(|bound| Field::new(bound, DataType::Int64, false))
            .to_vec()
            .into(),
    );
    let mut lines = Vec::new();
    for batch in batches {
        let plain = |column: &ArrayRef| {
            if column.as_struct_opt().is_some() {
                cast(column, &window).unwrap()
            } else {
                Arc::clone(column)
            }
        };
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect();
        let columns: Vec<ArrayFormatter<'_>> = columns
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        lines.extend((0..batch.num_rows()).map(|row| {
            columns
                .iter()
                .map(|column| format!("{}|", column.value(row)))
                .collect::<String>()
        }));
    }
    lines.sort();
    lines
}

/// Sessions of the gap column, cut to the longest gap where there is one.
fn own_gaps(longest: Option<i64>) -> String {
    let longest = longest.map_or(String::new(), |longest| {
        format!(r#", "longest_gap": {longest}"#)
    });
    format!(r#"{{"kind": "session", "gap_column": "gap"{longest}}}"#)
}

fn windows() -> impl Strategy<Value = String> {
    let session = (1..12_i64).prop_map(|gap| format!(r#"{{"kind": "session", "gap": {gap}}}"#));
    let sliding = (1..3_i64, 1..10_i64).prop_map(|(resolution, times)| {
        format!(
            r#"{{"kind": "sliding", "difference": {}, "resolution": {resolution}}}"#,
            resolution * times
        )
    });
    let dynamic = prop::option::weighted(0.7, 1..12_i64).prop_map(own_gaps);
    let cut = (
        any::<bool>(),
        1..12_i64,
        prop::option::of(1..30_i64),
        any::<bool>(),
    )
        .prop_map(|(is_dynamic, gap, longest, ends)| {
            let gap = if is_dynamic {
                own_gaps(None)
            } else {
                format!(r#"{{"kind": "session", "gap": {gap}}}"#)
            };
            cuts::cut(&gap, longest, ends || longest.is_none())
        });
    prop_oneof![session, dynamic, cut, sliding]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(64))]

    #[test]
    fn differential_blocks_and_shards_give_what_one_run_gives(
        (windows, rows, limits) in (windows(), rows(), limits()),
        keys in prop::sample::select(vec![r#"["key"]"#, r#"["name"]"#, r#"["key", "name"]"#]),
        (shards, mergers, most) in (1..=64_u32, 1..4_i32, 1..80_usize),
        seed: u64,
    ) {
        let random = &mut Random(seed);
        let whole = query(&windows, keys, AGGREGATES, shards, Limits::default());
        let (expected, counters) = run(&whole, &rows, random);
        let small = query(&windows, keys, AGGREGATES, shards, limits);
        let (results, counted) = run(&small, &rows, random);
        prop_assert_eq!(lines(&results), lines(&expected));
        prop_assert_eq!(counted, counters);

        let splits = cut(&rows, random, most);
        let (packed, counted) = packed(&small, &splits, random);
        prop_assert_eq!(counted, counters);
        let (results, _) = merged(&small, &packed, mergers, random);
        prop_assert!(results.iter().all(|batch| batch.schema() == small.output && batch.num_rows() > 0));
        prop_assert_eq!(lines(&results), lines(&expected));
    }

    #[test]
    fn oracle_windows_counts_and_sums_follow_the_rules(
        (rows, limits, seed) in (rows(), limits(), any::<u64>()),
        (gap, resolution, times) in (1..12_i64, 1..3_i64, 1..10_i64),
        cut_gaps: bool,
    ) {
        let random = &mut Random(seed);
        let data: Vec<&Row> = rows.iter().filter(|row| row.tick != Some(true)).collect();
        let kept: Vec<(i64, i64)> = data.iter().filter_map(|row| Some((row.key?, row.time?))).collect();
        let aggregates = r#"[{"name": "rows", "function": "count"}]"#;

        let session = query(&format!(r#"{{"kind": "session", "gap": {gap}}}"#), r#"["key"]"#, aggregates, 3, limits);
        let (results, counters) = run(&session, &rows, random);
        let records: Vec<(u32, i64)> = kept.iter().map(|&(key, time)| (key as u32, time)).collect();
        let expected: Vec<(i64, i64, i64, i64)> = oracle_sessions(&records, gap as u64)
            .into_iter()
            .map(|((key, start, end), count)| (key.into(), start, end, count as i64))
            .collect();
        prop_assert_eq!(counted(&results), expected);
        prop_assert_eq!(counters, Counters {
            records: kept.len() as u64,
            null_keys: data.iter().filter(|row| row.key.is_none()).count() as u64,
            null_times: data.iter().filter(|row| row.key.is_some() && row.time.is_none()).count() as u64,
            ticks: (rows.len() - data.len()) as u64,
            ..Counters::default()
        });

        let longest = cut_gaps.then_some(gap);
        let (results, dynamic) = run(&query(&own_gaps(longest), r#"["key"]"#, aggregates, 3, limits), &rows, random);
        let timed = data.iter().filter_map(|row| Some(((row.key? as u32, row.time?), row.gap())));
        let (good, bad): (Vec<_>, Vec<_>) = timed.partition(|(_, gap)| gap.is_some_and(|gap| gap > 0));
        let (records, own_gaps): (Vec<(u32, i64)>, Vec<i64>) = good.into_iter().filter_map(|(record, gap)| Some((record, gap?))).unzip();
        let gaps: Vec<u64> = own_gaps.iter().map(|&gap| gap.min(longest.unwrap_or(gap)) as u64).collect();
        let expected: Vec<(i64, i64, i64, i64)> = oracle_dynamic(&records, &gaps)
            .into_iter()
            .map(|((key, start, end), count)| (key.into(), start, end, count as i64))
            .collect();
        prop_assert_eq!(counted(&results), expected);
        let clamped_gaps = own_gaps.iter().filter(|&&gap| longest.is_some_and(|longest| gap > longest)).count() as u64;
        prop_assert_eq!(dynamic, Counters { records: own_gaps.len() as u64, bad_gaps: bad.len() as u64, clamped_gaps, ..counters });

        let (difference, resolution) = (resolution * times, resolution);
        let sliding = format!(r#"{{"kind": "sliding", "difference": {difference}, "resolution": {resolution}}}"#);
        let (packed, _) = packed(&query(&sliding, r#"["key"]"#, aggregates, 3, limits), &[&rows], random);
        let (results, _) = merged(&query(&sliding, r#"["key"]"#, aggregates, 3, limits), &packed, 1, random);
        let mut times: BTreeMap<i64, Vec<i128>> = BTreeMap::new();
        kept.iter().for_each(|&(key, time)| times.entry(key).or_default().push(time.into()));
        let expected: Vec<(i64, i64, i64, i64)> = times
            .into_iter()
            .flat_map(|(key, times)| {
                let windows = oracle_windows(&times, difference.into(), resolution.into());
                windows.into_iter().map(move |((start, end), times)| (key, start as i64, end as i64, times.len() as i64))
            })
            .collect();
        prop_assert_eq!(counted(&results), expected);
    }
}

/// Key, start, end and count of each row, ascending.
fn counted(batches: &[RecordBatch]) -> Vec<(i64, i64, i64, i64)> {
    let mut found = Vec::new();
    for batch in batches {
        let window = batch.column(1).as_struct();
        let bound = |place: usize| {
            window
                .column(place)
                .as_primitive::<TimestampMicrosecondType>()
                .values()
        };
        let (keys, counts) = (
            batch.column(0).as_primitive::<Int64Type>(),
            batch.column(2).as_primitive::<Int64Type>(),
        );
        let rows = keys
            .values()
            .iter()
            .zip(bound(0))
            .zip(bound(1))
            .zip(counts.values());
        found.extend(rows.map(|(((&key, &start), &end), &count)| (key, start, end, count)));
    }
    found.sort_unstable();
    found
}

/// Rows in order of time, of so many keys.
fn in_order(rows: i64, keys: i64) -> Vec<Row> {
    (0..rows)
        .map(|row| Row {
            key: Some(row % keys),
            name: None,
            time: Some(3 * row),
            tick: None,
            value: Some(row % 5),
        })
        .collect()
}

fn small_packs() -> Limits {
    Limits {
        pack_rows: 100,
        block_bytes: 500,
        merge_bytes: 4000,
        ..Limits::default()
    }
}

#[test]
fn windows_of_rows_in_order_leave_before_the_end() {
    let rows = in_order(4000, 7);
    for windows in [
        r#"{"kind": "session", "gap": 20}"#,
        r#"{"kind": "sliding", "difference": 30, "resolution": 1}"#,
    ] {
        let query = query(windows, r#"["key"]"#, AGGREGATES, 2, small_packs());
        let random = &mut Random(1);
        let (packed, _) = packed(&query, &[&rows], random);
        let (results, early) = merged(&query, &packed, 1, random);
        let all: usize = results.iter().map(RecordBatch::num_rows).sum();
        assert!(
            early * 10 > all * 9,
            "{early} of {all} windows of {windows} leave early"
        );
        assert_eq!(lines(&results), lines(&run(&query, &rows, random).0));
    }
}

#[test]
fn rows_of_keys_that_hardly_repeat_are_merged_in_parts_and_only_once_all_are_there() {
    // Of 400 keys, the first 200 have a second record 400 rows later, in the same session.
    let rows = in_order(600, 400);
    for merge_bytes in [1 << 30, 20_000, 4_000] {
        let limits = Limits {
            pack_loose: 10,
            part_rows: 20,
            merge_bytes,
            ..small_packs()
        };
        let windows = r#"{"kind": "session", "gap": 1500}"#;
        let random = &mut Random(1);
        let query = query(windows, r#"["key"]"#, AGGREGATES, 2, limits);
        let (packed, _) = packed(&query, &[&rows], random);
        let (results, _) = merged(&query, &packed, 1, random);
        assert_eq!(lines(&results), lines(&run(&query, &rows, random).0));
    }
}

#[test]
fn no_rows_give_no_windows() {
    for windows in [
        r#"{"kind": "session", "gap": 20}"#,
        r#"{"kind": "sliding", "difference": 30, "resolution": 1}"#,
    ] {
        let query = query(windows, r#"["key"]"#, AGGREGATES, 2, Limits::default());
        for batches in [vec![], vec![batch(&[])]] {
            let (results, counters) = query
                .run(batches.into_iter().map(Ok), 2, &Interrupt::never())
                .unwrap();
            assert_eq!((results.len(), counters), (0, Counters::default()));
        }
        let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
        assert!(
            packer.push(&batch(&[])).unwrap().is_empty() && packer.finish().unwrap().is_empty()
        );
        assert!(Merger::new(&query).unwrap().finish().unwrap().is_empty());
    }
}

#[test]
fn a_packer_continues_after_it_has_packed_and_forgotten_its_keys() {
    let rows = in_order(600, 7);
    let limits = Limits {
        pack_rows: 50,
        pack_keys: 0,
        ..Limits::default()
    };
    let windows = r#"{"kind": "session", "gap": 40}"#;
    let query = query(windows, r#"["key"]"#, AGGREGATES, 5, limits);
    let random = &mut Random(2);
    let (packed, _) = packed(&query, &[&rows[..300], &rows[300..]], random);
    assert_eq!(
        lines(&merged(&query, &packed, 2, random).0),
        lines(&run(&query, &rows, random).0)
    );
}

/// Windows of gaps of up to 9, where a bad one is an error.
const STRICT: &str =
    r#"{"kind": "session", "gap_column": "gap", "longest_gap": 9, "invalid_gap": "error"}"#;

#[test]
fn a_bad_gap_fails_by_key_and_time_where_that_was_asked() {
    let row = |key, time, value| Row {
        key,
        name: Some("a"),
        time,
        tick: None,
        value,
    };
    let limits = Limits {
        step_rows: 1,
        ..Limits::default()
    };
    let query = query(STRICT, r#"["key", "name"]"#, AGGREGATES, 2, limits);
    // Rows that are left out for their time come before their gap is looked at.
    let fine = [
        row(Some(1), Some(0), Some(1)),
        row(None, None, Some(0)),
        row(Some(2), None, None),
    ];
    assert_eq!(
        query
            .run([Ok(batch(&fine))].into_iter(), 1, &Interrupt::never())
            .unwrap()
            .1
            .bad_gaps,
        0
    );
    for value in [None, Some(0), Some(-1)] {
        let rows = [
            row(Some(1), Some(0), Some(1)),
            row(None, Some(1_000_000), value),
            row(Some(2), Some(5), value),
        ];
        for threads in 1..=4 {
            let message = query
                .run([Ok(batch(&rows))].into_iter(), threads, &Interrupt::never())
                .unwrap_err()
                .to_string();
            assert!(
                message.contains("\"gap\"") && message.contains("key , a at 1970-01-01T00:00:01Z"),
                "{message}"
            );
        }
        let message = Packer::new(Arc::clone(&query), 0)
            .unwrap()
            .push(&batch(&rows))
            .unwrap_err();
        assert!(matches!(message, Error::Record { .. }), "{message}");
    }
}

#[test]
fn sessions_with_own_gaps_leave_as_soon_as_nothing_reaches_them() {
    // Seven keys in turn, 3 apart, gaps of 3 to 12: those of a key are 21 apart, so each row is its
    // own session.
    let rows: Vec<Row> = in_order(4000, 7)
        .into_iter()
        .map(|row| Row {
            value: row.value.map(|value| 1 + value % 4),
            ..row
        })
        .collect();
    let limits = Limits {
        pack_rows: 100,
        block_bytes: 500,
        merge_bytes: 4000,
        ..Limits::default()
    };
    let windows = r#"{"kind": "session", "gap_column": "gap", "longest_gap": 100}"#;
    let query = query(windows, r#"["key"]"#, AGGREGATES, 2, limits);
    let (packed, _) = packed(&query, &[&rows], &mut Random(1));
    let (results, early) = merged(&query, &packed, 1, &mut Random(1));
    assert!(early * 10 > 4000 * 9, "{early} of 4000 windows leave early");
    assert_eq!(
        lines(&results),
        lines(&run(&query, &rows, &mut Random(1)).0)
    );
}
