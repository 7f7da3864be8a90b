//! Queries over records that have ends, against the rules, and what they refuse.

use std::sync::Arc;

use crate::batch::packer::Packer;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::format::block::{self, BlockKind};
use crate::format::packed::unpack;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;

use super::cuts::cut;
use super::rows::{AGGREGATES, Row, batch, limits, query_with, rows, schema};
use super::shuffle::{cut as pieces, merged, packed, run};
use super::{counted, in_order, lines, own_gaps};
use crate::core::aggregate::tests::trial::Random;
use crate::core::operator::session_end::EndedBy;
use crate::core::session::tests::cut_oracle::{CutRecord, Rules, oracle_cuts, plain};

const COUNT: &str = r#"[{"name": "rows", "function": "count"}]"#;
const ENDS: &str = r#", "end": "stop""#;
const STRICT: &str = r#", "end": "stop", "invalid_end": "error""#;

fn fixed(gap: i64) -> String {
    format!(r#"{{"kind": "session", "gap": {gap}}}"#)
}

/// The records with a key, a time, a valid gap and a valid end, and the numbers of bad gaps and of bad
/// ends.
fn records(rows: &[Row], gap: Option<i64>, ends: bool) -> (Vec<CutRecord>, u64, u64) {
    let (mut records, mut bad_gaps, mut bad_ends) = (Vec::new(), 0, 0);
    for row in rows.iter().filter(|row| row.tick != Some(true)) {
        let (Some(key), Some(time)) = (row.key, row.time) else {
            continue;
        };
        let Some(gap) = gap.or(row.gap()).filter(|&gap| gap >= 0) else {
            bad_gaps += 1;
            continue;
        };
        let Some(end) = row.end().filter(|&end| end >= time) else {
            bad_ends += 1;
            continue;
        };
        records.push(CutRecord {
            key: key as u8,
            length: end - time,
            ends: ends && row.ends() == Some(true),
            ..plain(time, gap)
        });
    }
    (records, bad_gaps, bad_ends)
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(150))]

    #[test]
    fn oracle_sessions_of_records_with_ends_follow_the_rules_in_this_process_and_in_blocks(
        (rows, limits, seed) in (rows(), limits(), any::<u64>()),
        gap in prop::option::weighted(0.7, 0..12_i64),
        (longest, ends) in prop_oneof![
            2 => Just((None, false)),
            1 => (1..40_i64, any::<bool>()).prop_map(|(longest, ends)| (Some(longest), ends)),
            1 => Just((None, true)),
        ],
        (mergers, most) in (1..4_i32, 1..80_usize),
    ) {
        let random = &mut Random(seed);
        let windows = cut(&gap.map_or_else(|| own_gaps(None), fixed), longest, ends);
        let query = query_with(ENDS, &windows, r#"["key"]"#, COUNT, 3, limits);
        let (records, bad_gaps, bad_ends) = records(&rows, gap, ends);
        let rules = Rules { longest, ..Rules::default() };
        let expected: Vec<(i64, i64, i64, i64)> = oracle_cuts(&records, rules, EndedBy::Open)
            .into_iter()
            .map(|(key, start, end, members, ..)| (key.into(), start, end, members.len() as i64))
            .collect();
        let (results, counters) = run(&query, &rows, random);
        prop_assert_eq!(&counted(&results), &expected);
        prop_assert_eq!((counters.bad_gaps, counters.bad_ends), (bad_gaps, bad_ends));
        let splits = pieces(&rows, random, most);
        let (packed, of_packers) = packed(&query, &splits, random);
        prop_assert_eq!(of_packers, counters);
        let (results, _) = merged(&query, &packed, mergers, random);
        prop_assert_eq!(counted(&results), expected);
    }

    #[test]
    fn differential_an_end_that_is_the_time_is_none(
        (rows, limits, seed) in (rows(), limits(), any::<u64>()),
        gap in 0..12_i64, cut_at in prop::option::of(1..30_i64),
    ) {
        let windows = cut(&fixed(gap), cut_at, false);
        let without = query_with("", &windows, r#"["key"]"#, AGGREGATES, 3, limits);
        let own = query_with(r#", "end": "ts""#, &windows, r#"["key"]"#, AGGREGATES, 3, limits);
        let (expected, counters) = run(&without, &rows, &mut Random(seed));
        let (found, own) = run(&own, &rows, &mut Random(seed));
        prop_assert_eq!(lines(&found), lines(&expected));
        prop_assert_eq!(own, counters);
    }
}

#[test]
fn blocks_have_ends_only_if_the_query_has_them() {
    let rows = in_order(20, 20);
    for (more, columns) in [("", 2), (ENDS, 3)] {
        let query = query_with(
            more,
            &fixed(5),
            r#"["key"]"#,
            COUNT,
            1,
            Limits {
                pack_loose: 1,
                ..Limits::default()
            },
        );
        let cut = query_with(
            more,
            &cut(&fixed(5), Some(9), false),
            r#"["key"]"#,
            COUNT,
            1,
            Limits::default(),
        );
        for query in [query, cut] {
            let (packed, _) = packed(&query, &[&rows], &mut Random(1));
            for batch in &packed {
                for row in unpack(batch).unwrap() {
                    let (kind, block) = block::decode(row.block).unwrap();
                    let expected = match kind {
                        BlockKind::Records => columns,
                        BlockKind::Sessions => 4,
                    };
                    assert_eq!(block.num_columns(), expected, "{more} {kind:?}");
                }
            }
        }
    }
}

#[test]
fn records_of_a_stream_come_as_they_are_if_they_have_ends() {
    let counted =
        r#"[{"name": "n", "function": "count"}, {"name": "windrow.records", "function": "count"}]"#;
    let rows = in_order(300, 3);
    for (more, kind) in [("", BlockKind::Sessions), (ENDS, BlockKind::Records)] {
        let query = query_with(more, &fixed(5), r#"["key"]"#, counted, 1, Limits::default());
        let (packed, _) = packed(&query, &[&rows], &mut Random(1));
        let blocks = packed.iter().flat_map(|batch| unpack(batch).unwrap());
        let kinds: Vec<BlockKind> = blocks
            .map(|row| block::decode(row.block).unwrap().0)
            .collect();
        assert!(
            !kinds.is_empty() && kinds.iter().all(|own| *own == kind),
            "{kinds:?}"
        );
    }
}

#[test]
fn a_bad_end_fails_by_key_and_time_where_that_was_asked() {
    let row = |key, time| Row {
        key,
        name: Some("a"),
        time,
        tick: None,
        value: Some(1),
    };
    let query = query_with(
        STRICT,
        &fixed(5),
        r#"["key", "name"]"#,
        COUNT,
        2,
        Limits::default(),
    );
    let run = |rows: &[Row]| query.run([Ok(batch(rows))].into_iter(), 1, &Interrupt::never());
    // A tick is no record, and a row that is left out for its key or its time has no end to look at.
    let tick = Row {
        tick: Some(true),
        ..row(Some(1), Some(13))
    };
    assert!(run(&[row(Some(1), Some(2)), tick, row(Some(1), None)]).is_ok());
    // The end of 13 is null, and that of 9 is 8 - 4 + ... before it.
    let early = (1..200).find(|&time| row(None, Some(time)).end().is_some_and(|end| end < time));
    for time in [13, early.unwrap()] {
        let rows = [row(Some(1), Some(2)), row(Some(2), Some(time))];
        let message = run(&rows).unwrap_err().to_string();
        assert!(
            message.starts_with("column \"stop\"")
                && message.contains("the end of key 2, a at 1970"),
            "{message}"
        );
        let refused = Packer::new(Arc::clone(&query), 0)
            .unwrap()
            .push(&batch(&rows));
        assert!(matches!(refused, Err(Error::Record { .. })));
    }
}

#[test]
fn an_end_is_a_column_of_the_type_of_times_and_only_of_sessions() {
    let message = |schema: &Schema, windows: &str, end: &str| {
        let spec = format!(
            r#"{{"keys": ["key"], "time": "ts", "windows": {windows}, "aggregates": {COUNT}, "shards": 1, "end": "{end}"}}"#
        );
        let query = Query::new(&Spec::parse(&spec).unwrap(), schema);
        query.err().map(|error| error.to_string())
    };
    let sliding = r#"{"kind": "sliding", "difference": 5}"#;
    let schema = schema();
    assert_eq!(message(&schema, &fixed(0), "stop"), None);
    assert_eq!(message(&schema, &fixed(0), "ts"), None);
    let refused = message(&schema, sliding, "stop").unwrap();
    assert!(refused.starts_with("end: got \"stop\""), "{refused}");
    let missing = message(&schema, &fixed(5), "stopped").unwrap();
    assert!(missing.contains("stopped"), "{missing}");
    for other in [
        DataType::Int64,
        DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Madrid".into())),
    ] {
        let fields = schema
            .fields()
            .iter()
            .map(|field| match field.name().as_str() {
                "stop" => Field::new("stop", other.clone(), true),
                _ => field.as_ref().clone(),
            });
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let refused = message(&schema, &fixed(5), "stop").unwrap();
        assert!(refused.contains("the type of the time column"), "{refused}");
    }
}

#[test]
fn a_gap_below_zero_is_refused() {
    let spec = format!(
        r#"{{"keys": ["key"], "time": "ts", "windows": {}, "aggregates": {COUNT}, "shards": 1}}"#,
        fixed(-1)
    );
    let error = Query::new(&Spec::parse(&spec).unwrap(), &schema())
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("allowed: zero or more"),
        "{error}"
    );
}
