//! Queries of sessions that are cut, against the rule, and what they refuse.

use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::shard::shard_sessions::ShardSessions;
use proptest::prelude::*;

use super::rows::{Row, limits, query, rows, schema};
use super::shuffle::{cut as pieces, merged, packed, run};
use super::{counted, in_order, own_gaps};
use crate::core::aggregate::tests::trial::Random;
use crate::core::operator::session_end::EndedBy;
use crate::core::session::tests::cut_oracle::{CutRecord, Rules, oracle_cuts, plain};

const COUNT: &str = r#"[{"name": "rows", "function": "count"}]"#;

/// Windows of sessions, cut at a length, at the column `ends`, or both.
pub(super) fn cut(sessions: &str, longest: Option<i64>, ends: bool) -> String {
    let longest = longest.map_or(String::new(), |longest| {
        format!(r#", "longest": {longest}"#)
    });
    let ends = if ends { r#", "ends": "ends""# } else { "" };
    format!("{}{longest}{ends}}}", sessions.trim_end_matches('}'))
}

fn fixed(gap: i64) -> String {
    format!(r#"{{"kind": "session", "gap": {gap}}}"#)
}

/// The records of rows; `gap` is the one of all, or none where each has its own.
fn records(rows: &[Row], gap: Option<i64>, ends: bool) -> Vec<CutRecord> {
    let data = rows.iter().filter(|row| row.tick != Some(true));
    data.filter_map(|row| {
        let gap = gap.or(row.gap()).filter(|&gap| gap > 0)?;
        Some(CutRecord {
            key: row.key? as u8,
            ends: ends && row.ends() == Some(true),
            ..plain(row.time?, gap)
        })
    })
    .collect()
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(150))]

    #[test]
    fn oracle_cut_sessions_follow_the_rule_in_this_process_and_in_blocks(
        (rows, limits, seed) in (rows(), limits(), any::<u64>()),
        gap in prop::option::weighted(0.7, 1..12_i64),
        (longest, ends) in prop_oneof![
            (1..40_i64, any::<bool>()).prop_map(|(longest, ends)| (Some(longest), ends)),
            Just((None, true)),
        ],
        (mergers, most) in (1..4_i32, 1..80_usize),
    ) {
        let random = &mut Random(seed);
        let windows = cut(&gap.map_or_else(|| own_gaps(None), fixed), longest, ends);
        let query = query(&windows, r#"["key"]"#, COUNT, 3, limits);
        let rules = Rules { longest, ..Rules::default() };
        let expected: Vec<(i64, i64, i64, i64)> = oracle_cuts(&records(&rows, gap, ends), rules, EndedBy::Open)
            .into_iter()
            .map(|(key, start, end, members, ..)| (key.into(), start, end, members.len() as i64))
            .collect();
        prop_assert_eq!(&counted(&run(&query, &rows, random).0), &expected);
        let splits = pieces(&rows, random, most);
        let (packed, _) = packed(&query, &splits, random);
        let (results, _) = merged(&query, &packed, mergers, random);
        prop_assert_eq!(counted(&results), expected);
    }
}

#[test]
fn sessions_leave_as_soon_as_no_later_block_can_cut_them_otherwise() {
    let small = Limits {
        pack_rows: 50,
        block_bytes: 1,
        merge_bytes: 1,
        ..Limits::default()
    };
    let query = query(
        &cut(&fixed(1000), Some(20), true),
        r#"["key"]"#,
        COUNT,
        1,
        small,
    );
    let rows = in_order(2000, 7);
    let random = &mut Random(1);
    let (packed, _) = packed(&query, &[&rows], random);
    let (results, early) = merged(&query, &packed, 1, random);
    let windows = counted(&results).len();
    assert!(
        early > windows * 9 / 10,
        "{early} of {windows} windows left before the end"
    );
}

#[test]
fn partial_sessions_of_a_stream_are_refused() {
    let spec = |windows: &str| {
        let spec = format!(
            r#"{{"keys": ["key"], "time": "ts", "windows": {windows}, "aggregates": {COUNT}, "shards": 1, "grace": 0}}"#
        );
        Spec::parse(&spec).unwrap()
    };
    assert!(ShardSessions::new(&spec(&fixed(5)), &schema(), 0).is_ok());
    assert!(ShardSessions::new(&spec(&cut(&fixed(5), Some(9), false)), &schema(), 0).is_err());
    assert!(ShardSessions::new(&spec(&cut(&fixed(5), None, true)), &schema(), 0).is_err());
}

#[test]
fn a_longest_session_is_one_tick_at_least_and_ends_is_a_boolean() {
    let message = |windows: &str| {
        let spec = format!(
            r#"{{"keys": ["key"], "time": "ts", "windows": {windows}, "aggregates": {COUNT}, "shards": 1}}"#
        );
        Query::new(&Spec::parse(&spec).unwrap(), &schema())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(message(&cut(&fixed(5), Some(1), true)), None);
    assert!(
        message(&cut(&fixed(5), Some(0), false))
            .unwrap()
            .starts_with("max_duration: got 0 microseconds")
    );
    let of_text = cut(&fixed(5), None, true).replace(r#""ends": "ends""#, r#""ends": "s""#);
    assert!(
        message(&of_text)
            .unwrap()
            .starts_with("end_when: column \"s\""),
        "{:?}",
        message(&of_text)
    );
}
