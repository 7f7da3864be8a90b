//! Which rows of a session query travel as partial sessions, and which as the records that they
//! are.

use std::sync::Arc;

use arrow_array::{BinaryArray, RecordBatch, StringArray};

use crate::array::named::unnamed;
use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::error::Error;
use crate::format::block::{BlockKind, decode, encode};
use crate::format::packed::unpack;
use crate::plan::limits::Limits;

use crate::batch::tests::query::{Row, batch, query};

const COUNT: &str = r#"[{"name": "n", "function": "count"}]"#;
const GAP_10: &str = r#"{"kind": "session", "gap": 10}"#;

fn row(key: i64, time: i64) -> Row {
    Row {
        key: Some(key),
        name: None,
        time: Some(time),
        tick: None,
        value: Some(1),
    }
}

/// The number of rows that travel in each form.
fn travelling(rows: &[Row], pack_loose: usize) -> (usize, usize) {
    travelling_of(
        rows,
        Limits {
            pack_loose,
            ..Limits::default()
        },
    )
}

/// The same of rows that come a thousand at a time.
fn travelling_of(rows: &[Row], limits: Limits) -> (usize, usize) {
    travelling_with(COUNT, rows, limits)
}

/// The same with other aggregates.
fn travelling_with(aggregates: &str, rows: &[Row], limits: Limits) -> (usize, usize) {
    let query = query(GAP_10, r#"["key", "name"]"#, aggregates, 3, limits);
    let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
    let mut packed: Vec<_> = rows
        .chunks(1000)
        .flat_map(|rows| packer.push(&batch(rows)).unwrap())
        .collect();
    packed.extend(packer.finish().unwrap());
    let (mut sessions, mut records) = (0, 0);
    for block in packed.iter().flat_map(|batch| unpack(batch).unwrap()) {
        let (kind, rows) = decode(block.block).unwrap();
        *(if kind == BlockKind::Sessions {
            &mut sessions
        } else {
            &mut records
        }) += rows.num_rows();
    }
    (sessions, records)
}

#[test]
fn rows_that_join_few_others_travel_as_they_are_from_a_number_on() {
    let apart: Vec<Row> = (0..40).map(|nth| row(0, 100 * (nth * 7 % 40))).collect();
    for (pack_loose, expected) in [(41, (40, 0)), (40, (0, 40)), (39, (0, 40))] {
        assert_eq!(travelling(&apart, pack_loose), expected, "{pack_loose}");
    }
}

#[test]
fn rows_are_grouped_where_partial_sessions_have_no_more_values() {
    // Two keys, start, end and count of a partial session; two keys and time of a record.
    let pairs = |pairs: i64, single: i64| -> Vec<Row> {
        let together = (0..pairs).flat_map(|nth| [row(0, 100 * nth), row(0, 100 * nth + 10)]);
        together
            .chain((0..single).map(|nth| row(0, 10_000 + 100 * nth)))
            .collect()
    };
    assert_eq!(travelling(&pairs(10, 4), 1), (14, 0), "70 for 72");
    assert_eq!(travelling(&pairs(10, 5), 1), (15, 0), "75 for 75");
    assert_eq!(travelling(&pairs(10, 6), 1), (0, 26), "80 for 78");
}

#[test]
fn rows_are_grouped_where_that_halves_them_if_states_are_lists() {
    const SET: &str = r#"[{"name": "s", "function": "collect_set", "columns": ["x"]}]"#;
    let pairs = |single: i64| -> Vec<Row> {
        let together = (0..10).flat_map(|nth| [row(0, 100 * nth), row(0, 100 * nth + 10)]);
        together
            .chain((0..single).map(|nth| row(0, 10_000 + 100 * nth)))
            .collect()
    };
    for (single, expected) in [(0, (10, 0)), (1, (0, 21))] {
        let limits = Limits {
            pack_loose: 1,
            ..Limits::default()
        };
        assert_eq!(travelling_with(SET, &pairs(single), limits), expected);
    }
}

#[test]
fn rows_travel_as_they_are_if_states_have_a_value_of_each_row() {
    let list = |condition: &str| {
        format!(r#"[{{"name": "l", "function": "collect_list", "columns": ["x"]{condition}}}]"#)
    };
    let together: Vec<Row> = (0..40).map(|nth| row(0, nth)).collect();
    let travelling = |aggregates: &str, pack_loose| {
        let limits = Limits {
            pack_loose,
            ..Limits::default()
        };
        travelling_with(aggregates, &together, limits)
    };
    for (pack_loose, expected) in [(41, (1, 0)), (40, (0, 40))] {
        assert_eq!(travelling(&list(""), pack_loose), expected, "{pack_loose}");
    }
    // Few rows may pass the filter.
    assert_eq!(travelling(&list(r#", "where": "ends""#), 1), (1, 0));
}

#[test]
fn rows_of_a_funnel_are_grouped_where_sessions_are_long() {
    let travelling = |count, strict| {
        let funnel = format!(
            r#"[{{"name": "f", "function": "funnel", "columns": ["ends"], "funnel": {{"strict": {strict}}}}}]"#
        );
        let together: Vec<Row> = (0..count).map(|nth| row(0, nth)).collect();
        let limits = Limits {
            pack_loose: 1,
            ..Limits::default()
        };
        travelling_with(&funnel, &together, limits)
    };
    assert_eq!(travelling(63, false), (0, 63), "a state may have them all");
    assert_eq!(travelling(64, false), (1, 0));
    assert_eq!(travelling(64, true), (0, 64));
}

#[test]
fn all_rows_of_few_keys_decide() {
    // One key in order, except that the first row, or the third, has another key.
    for at in [0, 2] {
        let hot: Vec<Row> = (0..64).map(|nth| row(i64::from(nth != at), nth)).collect();
        assert_eq!(travelling(&hot, 1), (2, 0), "{at}");
    }
    // Key 0 has one session, key 1 one for each of its rows: 33 with five values each.
    let apart = (0..32).map(|nth| row(1, 100 * nth));
    for (together, expected) in [(22, (0, 54)), (23, (33, 0))] {
        let rows: Vec<Row> = (0..together)
            .map(|nth| row(0, nth))
            .chain(apart.clone())
            .collect();
        assert_eq!(travelling(&rows, 1), expected, "{together}");
    }
}

#[test]
fn one_of_many_keys_in_sixteen_decides_and_each_with_many_rows() {
    // Four rows of each of 3,200 keys: of those of every sixteenth number in one session.
    let rows = |sampled: i64, others: i64| -> Vec<Row> {
        let apart = |key: i64| if key % 16 == 0 { sampled } else { others };
        (0..12_800)
            .map(|nth| row(nth % 3_200, nth / 3_200 * apart(nth % 3_200)))
            .collect()
    };
    assert_eq!(travelling(&rows(1, 100), 1), (200 + 12_000, 0));
    assert_eq!(travelling(&rows(100, 1), 1), (0, 12_800));
    // A key of another number has most rows, each in a separate session.
    let hot = (0..40_000).map(|nth| row(1, 100 * nth));
    let with_hot: Vec<Row> = rows(1, 1).into_iter().chain(hot).collect();
    assert_eq!(travelling(&with_hot, 1), (0, 52_800));
}

#[test]
fn rows_of_a_shuffled_split_all_travel_as_they_are() {
    // Each of 20,000 keys comes twice, far apart; every other row goes back.
    let shuffled: Vec<Row> = (0..40_000)
        .map(|nth| row(nth % 20_000, 100 * (nth * 19_997 % 40_000)))
        .collect();
    assert_eq!(travelling_of(&shuffled, Limits::default()), (0, 40_000));
    let small = Limits {
        pack_rows: 18_000,
        pack_loose: 1,
        ..Limits::default()
    };
    assert_eq!(
        travelling_of(&shuffled, small),
        (0, 40_000),
        "in several lots"
    );
    let of_few: Vec<Row> = (0..40_000)
        .map(|nth| row(nth % 500, 100 * (nth * 19_997 % 40_000)))
        .collect();
    assert_eq!(
        travelling_of(&of_few, Limits::default()),
        (0, 40_000),
        "of few keys"
    );
}

#[test]
fn rows_in_order_wait_for_those_that_they_may_join() {
    let own_keys: Vec<Row> = (0..30_000).map(|nth| row(nth, nth)).collect();
    assert_eq!(travelling_of(&own_keys, Limits::default()), (0, 30_000));
    // No two of the first 16,384 rows have the same key.
    let twice: Vec<Row> = (0..40_000)
        .map(|nth| row(nth % 20_000, nth / 20_000))
        .collect();
    assert_eq!(travelling_of(&twice, Limits::default()), (20_000, 0));
    let bytes = batch(&own_keys).get_array_memory_size();
    for (buffer_bytes, expected) in [(bytes / 8, (30_000, 0)), (2 * bytes, (0, 30_000))] {
        let limits = Limits {
            buffer_bytes,
            ..Limits::default()
        };
        assert_eq!(travelling_of(&own_keys, limits), expected);
    }
}

/// Rows in order are grouped as they come.
fn unbuffered() -> Limits {
    Limits {
        buffer_bytes: 0,
        ..Limits::default()
    }
}

#[test]
fn rows_that_go_back_within_the_gap_or_seldom_are_grouped_as_they_come() {
    // Each row has its own key, and every other one goes back by one below, at and above the gap.
    for (back, expected) in [(9, (30_000, 0)), (10, (30_000, 0)), (11, (0, 30_000))] {
        let time = |nth: i64| {
            if nth % 2 == 0 {
                20 * nth
            } else {
                20 * (nth - 1) - back
            }
        };
        let rows: Vec<Row> = (0..30_000).map(|nth| row(nth, time(nth))).collect();
        assert_eq!(travelling_of(&rows, unbuffered()), expected, "{back}");
    }
    // Wide keys get their numbers before their rows are enough to be looked at.
    let name: &str = "x".repeat(1000).leak();
    let ascending: Vec<Row> = (0..25_000)
        .map(|nth| Row {
            name: Some(name),
            ..row(nth % 500, 20 * nth)
        })
        .collect();
    assert_eq!(travelling_of(&ascending, unbuffered()), (25_000, 0));
    // By key, then by time: every fiftieth row goes back.
    let by_key: Vec<Row> = (0..30_000)
        .map(|nth| row(nth / 50, 20 * (nth % 50)))
        .collect();
    assert_eq!(travelling_of(&by_key, unbuffered()), (30_000, 0));
}

#[test]
fn keys_whose_rows_are_each_in_order_are_grouped_as_they_come() {
    // Of two feeds row by row, the second far behind: every other row goes back, none of its key
    // does.
    let feeds: Vec<Row> = (0..30_000)
        .map(|nth| row(nth % 500, 20 * nth - 3_600_000 * (nth % 2)))
        .collect();
    assert_eq!(travelling_of(&feeds, unbuffered()), (30_000, 0));
    // Few keys that repeat, but enough to decide.
    for (again, expected) in [(63, (0, 30_000)), (64, (30_000, 0))] {
        let key = |nth: i64| if nth < 2 * again { nth % again } else { nth };
        let feeds: Vec<Row> = (0..30_000)
            .map(|nth| row(key(nth), 20 * nth - 3_600_000 * (nth % 2)))
            .collect();
        assert_eq!(travelling_of(&feeds, unbuffered()), expected, "{again}");
    }
}

#[test]
fn slices_of_a_large_batch_wait_as_long_as_separate_batches() {
    let rows: Vec<Row> = (0..20_000).map(|nth| row(nth % 50, nth)).collect();
    let whole = batch(&rows);
    let limits = Limits {
        pack_bytes: 2 * whole.get_array_memory_size(),
        ..Limits::default()
    };
    let query = query(GAP_10, r#"["key", "name"]"#, COUNT, 3, limits);
    let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
    for from in (0..20_000).step_by(1000) {
        assert_eq!(packer.push(&whole.slice(from, 1000)).unwrap(), []);
    }
    assert!(!packer.finish().unwrap().is_empty());
}

#[test]
fn a_block_with_a_column_of_an_unknown_type_is_an_error_of_the_format() {
    let sum = r#"[{"name": "total", "function": "sum", "columns": ["x"]}]"#;
    for windows in [GAP_10, r#"{"kind": "sliding", "difference": 10}"#] {
        let query = query(windows, r#"["key"]"#, sum, 1, Limits::default());
        let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
        assert!(packer.push(&batch(&[row(0, 1)])).unwrap().is_empty());
        let packed = packer.finish().unwrap().remove(0);
        let (kind, rows) = decode(unpack(&packed).unwrap()[0].block).unwrap();
        let mut columns = rows.columns().to_vec();
        *columns.last_mut().unwrap() = Arc::new(StringArray::from(vec!["1"]));
        let bytes = encode(kind, &unnamed(columns).unwrap()).unwrap();
        let mut columns = packed.columns().to_vec();
        columns[2] = Arc::new(BinaryArray::from(vec![bytes.as_slice()]));
        let damaged = RecordBatch::try_new(packed.schema(), columns).unwrap();
        let refused = Merger::new(&query).unwrap().push(&damaged);
        assert!(
            matches!(refused, Err(Error::Format { what: "block", .. })),
            "{windows}"
        );
    }
}
