//! Queries and data that are refused; every error names the column or the argument.

use std::sync::Arc;

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::session::session_windows::Gap;
use crate::core::sliding::plan::Sliding;
use crate::core::time::Span;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::plan::window_lengths::WindowLengths;
use arrow_array::{RecordBatch, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use crate::batch::tests::query::{Row, batch, query};

const SESSION: &str = r#"{"kind": "session", "gap": 20}"#;
const SLIDING: &str = r#"{"kind": "sliding", "difference": 30, "resolution": 1}"#;
const KEY: &str = r#"["key"]"#;

fn row(time: i64, value: i64) -> Row {
    Row {
        key: Some(1),
        name: None,
        time: Some(time),
        tick: None,
        value: Some(value),
    }
}

fn run(query: &Arc<Query>, rows: &[Row]) -> Result<Vec<RecordBatch>> {
    Ok(query
        .run([Ok(batch(rows))].into_iter(), 2, &Interrupt::never())?
        .0)
}

/// The same by way of blocks.
fn through_blocks(query: &Arc<Query>, rows: &[Row]) -> Result<Vec<RecordBatch>> {
    let mut packer = Packer::new(Arc::clone(query), 0)?;
    let mut packed = packer.push(&batch(rows))?;
    packed.extend(packer.finish()?);
    let mut merger = Merger::new(query)?;
    let mut results = Vec::new();
    for packed in &packed {
        results.extend(merger.push(packed)?);
    }
    results.extend(merger.finish()?);
    Ok(results.into_iter().map(|(_, windows)| windows).collect())
}

#[test]
fn an_integer_sum_that_does_not_fit_names_its_column_and_window() {
    let aggregates = r#"[{"name": "rows", "function": "count"}, {"name": "total", "function": "sum", "columns": ["x"]}]"#;
    let second = 1_000_000;
    let rows = [
        row(0, 1),
        row(1000 * second, i64::MAX),
        row(1000 * second + 1, 1),
        row(5000 * second, 7),
    ];
    for (windows, bounds) in [
        (
            SESSION,
            "[1970-01-01T00:16:40Z, 1970-01-01T00:16:40.000001Z]",
        ),
        (
            SLIDING,
            "[1970-01-01T00:16:39.999971Z, 1970-01-01T00:16:40.000001Z]",
        ),
    ] {
        let query = query(windows, KEY, aggregates, 4, Limits::default());
        for result in [run(&query, &rows), through_blocks(&query, &rows)] {
            let Err(Error::Overflow { column, reason }) = result else {
                panic!("no overflow in {windows}")
            };
            assert_eq!(column, "total");
            assert!(reason.contains(bounds), "{reason}");
        }
        // One less fits, and so does a sum that passes the largest number on its way.
        let rows = [row(1000 * second, i64::MAX), row(1000 * second + 1, 0)];
        assert!(run(&query, &rows).is_ok());
        let rows = [
            row(1000 * second, i64::MAX),
            row(1000 * second, 1),
            row(1000 * second, -1),
        ];
        assert!(run(&query, &rows).is_ok());
    }
}

#[test]
fn a_sliding_window_beyond_time_names_the_time_column() {
    let aggregates = r#"[{"name": "rows", "function": "count"}]"#;
    let sliding = query(SLIDING, KEY, aggregates, 4, Limits::default());
    for (rows, fits) in [
        (vec![row(i64::MIN + 29, 0)], false),
        (vec![row(i64::MIN + 30, 0)], true),
        (vec![row(i64::MAX, 0)], true),
        (vec![row(i64::MAX - 1, 0), row(i64::MAX, 0)], false),
    ] {
        for result in [run(&sliding, &rows), through_blocks(&sliding, &rows)] {
            match result {
                Ok(_) => assert!(fits, "{rows:?}"),
                Err(Error::Overflow { column, .. }) => assert!(!fits && column == "ts", "{rows:?}"),
                Err(other) => panic!("{other}"),
            }
        }
    }
    let session = query(SESSION, KEY, aggregates, 4, Limits::default());
    let rows = [row(i64::MIN, 0), row(i64::MAX, 0)];
    let sessions =
        |results: Vec<RecordBatch>| results.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(run(&session, &rows).map(sessions).unwrap(), 2);
}

fn with_unit(unit: TimeUnit, windows: &str) -> Result<Query> {
    let schema = Schema::new(vec![
        Field::new("key", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(unit, None), true),
    ]);
    let spec = format!(
        r#"{{"keys": ["key"], "time": "ts", "windows": {windows}, "aggregates": [{{"name": "rows", "function": "count"}}], "shards": 1}}"#
    );
    Query::new(&Spec::parse(&spec)?, &schema)
}

fn sliding(difference: i64, resolution: i64) -> String {
    format!(r#"{{"kind": "sliding", "difference": {difference}, "resolution": {resolution}}}"#)
}

fn session(gap: i64) -> String {
    format!(r#"{{"kind": "session", "gap": {gap}}}"#)
}

#[test]
fn difference_and_resolution_are_whole_ticks_and_the_first_a_multiple_of_the_second() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    for (unit, difference, resolution, wrong) in [
        (Microsecond, 10, 1, None),
        (Microsecond, 10, 3, Some("difference")),
        (Microsecond, 10, 11, Some("difference")),
        (Microsecond, 0, 1, Some("difference")),
        (Microsecond, -10, 1, Some("difference")),
        (Microsecond, 10, 0, Some("resolution")),
        (Microsecond, 10, -1, Some("resolution")),
        (Millisecond, 10_000, 1_000, None),
        (Millisecond, 10_000, 1, Some("resolution")),
        (Millisecond, 10_500, 1_000, Some("difference")),
        (Second, 60_000_000, 1_000_000, None),
        (Second, 60_000_000, 1_000, Some("resolution")),
        (Nanosecond, 10, 1, None),
        (Nanosecond, i64::MAX, 1, Some("difference")),
    ] {
        match (with_unit(unit, &sliding(difference, resolution)), wrong) {
            (Ok(_), None) => {}
            (Err(Error::Argument { argument, got, .. }), Some(wrong)) => {
                assert_eq!(argument, wrong);
                assert!(got.contains("microseconds"), "{got}");
            }
            (other, _) => panic!("{unit:?} {difference} {resolution}: {:?}", other.err()),
        }
    }
}

#[test]
fn a_resolution_that_is_not_said_is_one_tick_of_the_time_column() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    for (unit, difference, ticks) in [
        (Second, 60_000_000, Some(60)),
        (Second, 60_000_001, None),
        (Millisecond, 10_000, Some(10)),
        (Millisecond, 10_001, None),
        (Microsecond, 10, Some(10)),
        (Nanosecond, 10, Some(10_000)),
    ] {
        let windows = format!(r#"{{"kind": "sliding", "difference": {difference}}}"#);
        match (with_unit(unit, &windows), ticks) {
            (Ok(query), Some(ticks)) => assert!(
                matches!(query.windows, WindowLengths::Sliding(Sliding { difference, resolution }) if difference == Span(ticks) && resolution == Span(1)),
                "{unit:?} {difference}"
            ),
            (Err(Error::Argument { argument, .. }), None) => assert_eq!(argument, "difference"),
            (other, _) => panic!("{unit:?} {difference}: {:?}", other.err()),
        }
    }
}

#[test]
fn a_gap_is_zero_or_more_and_counts_in_the_columns_unit() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    for (unit, gap, ticks) in [
        (Microsecond, 7, Some(7)),
        (Microsecond, i64::MAX, Some(i64::MAX as u64)),
        (Nanosecond, 7, Some(7000)),
        (Nanosecond, i64::MAX, None),
        // A gap below one tick joins equal times only; distances are whole ticks, so flooring loses
        // nothing.
        (Millisecond, 999, Some(0)),
        (Millisecond, 1_999, Some(1)),
        (Second, 1_000_000, Some(1)),
        (Second, 0, Some(0)),
        (Second, -1, None),
    ] {
        match (with_unit(unit, &session(gap)), ticks) {
            (Ok(query), Some(ticks)) => assert!(
                matches!(query.windows, WindowLengths::Session(Gap::Fixed(gap)) if gap == Span(ticks))
            ),
            (Err(Error::Argument { argument, .. }), None) => assert_eq!(argument, "gap"),
            (other, _) => panic!("{unit:?} {gap}: {:?}", other.err()),
        }
    }
}

#[test]
fn numbers_of_shards_and_inputs_have_bounds() {
    let schema = Schema::new(vec![
        Field::new("key", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Second, None), true),
        Field::new("input", DataType::Int32, true),
    ]);
    let query = |shards: i64, inputs: i64| {
        let spec = format!(
            r#"{{"keys": ["key"], "time": "ts", "windows": {}, "aggregates": [], "shards": {shards}, "inputs": {{"column": "input", "count": {inputs}}}}}"#,
            session(1_000_000)
        );
        Query::new(&Spec::parse(&spec)?, &schema)
    };
    for (shards, inputs, wrong) in [
        (1, 1, None),
        (65_536, 65_536, None),
        (0, 1, Some("shards")),
        (65_537, 1, Some("shards")),
        (u32::MAX.into(), 1, Some("shards")),
        (1 << 32, 1, Some("shards")),
        (-1, 1, Some("shards")),
        (i64::MIN, -1, Some("shards")),
        (1, 0, Some("inputs: count")),
        (1, 65_537, Some("inputs: count")),
        (1, u32::MAX.into(), Some("inputs: count")),
        (1, 1 << 32, Some("inputs: count")),
        (1, -1, Some("inputs: count")),
    ] {
        match (query(shards, inputs), wrong) {
            (Ok(_), None) => {}
            (
                Err(Error::Argument {
                    argument,
                    got,
                    allowed,
                }),
                Some(wrong),
            ) => {
                let count = if wrong == "shards" { shards } else { inputs };
                assert_eq!((argument.as_str(), got), (wrong, count.to_string()));
                assert_eq!(allowed, "1 to 65536");
            }
            (other, _) => panic!("{shards} {inputs}: {:?}", other.err()),
        }
    }
}

/// The same columns in another order with one more, batch by batch.
#[test]
fn batches_may_have_their_columns_in_any_order_and_more_of_them() {
    let aggregates = r#"[{"name": "total", "function": "sum", "columns": ["x"]}]"#;
    let query = query(SESSION, KEY, aggregates, 4, Limits::default());
    let whole = batch(&[row(1, 1), row(2, 2)]);
    let expected = run(&query, &[row(1, 1), row(2, 2)]).unwrap();
    let turned: Vec<usize> = (0..whole.num_columns()).rev().collect();
    let turned = whole.project(&turned).unwrap();
    let extra = Arc::new(Field::new("another", DataType::Int64, true));
    let fields = [extra]
        .into_iter()
        .chain(turned.schema_ref().fields().iter().cloned());
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let columns = [Arc::clone(whole.column(0))]
        .into_iter()
        .chain(turned.columns().iter().cloned());
    let wider = RecordBatch::try_new(Arc::new(schema), columns.collect()).unwrap();
    for given in [whole, turned, wider] {
        let (results, _) = query
            .run([Ok(given.clone())].into_iter(), 1, &Interrupt::never())
            .unwrap();
        assert_eq!(results, expected);
        let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
        packer.push(&given).unwrap();
        let mut merger = Merger::new(&query).unwrap();
        let packed = packer.finish().unwrap();
        let mut merged = merger.push(&packed[0]).unwrap();
        merged.extend(merger.finish().unwrap());
        let (_, merged): (Vec<_>, Vec<_>) = merged.into_iter().unzip();
        assert_eq!(merged, expected);
    }
}

#[test]
fn a_batch_without_a_column_or_with_another_unit_is_refused() {
    let query = query(
        SESSION,
        KEY,
        r#"[{"name": "rows", "function": "count"}]"#,
        4,
        Limits::default(),
    );
    let whole = batch(&[row(1, 1)]);
    for (missing, place) in [("key", 0), ("ts", 2), ("tick", 3)] {
        let others: Vec<usize> = (0..whole.num_columns())
            .filter(|&column| column != place)
            .collect();
        let error = query
            .run(
                [whole.project(&others)].into_iter().map(|batch| Ok(batch?)),
                2,
                &Interrupt::never(),
            )
            .err()
            .unwrap();
        assert!(error.to_string().contains(missing), "{error}");
    }
    // Milliseconds too far for the microseconds that were declared.
    let fields = vec![
        whole.schema().field(0).clone(),
        whole.schema().field(3).clone(),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ];
    let times = Arc::new(TimestampMillisecondArray::from(vec![i64::MAX]));
    let columns = vec![
        Arc::clone(whole.column(0)),
        Arc::clone(whole.column(3)),
        times as _,
    ];
    let far = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    assert!(
        query
            .run([Ok(far)].into_iter(), 1, &Interrupt::never())
            .is_err()
    );
}

#[test]
fn packed_rows_of_another_query_are_an_error() {
    let aggregates = r#"[{"name": "total", "function": "sum", "columns": ["x"]}]"#;
    let queries = [
        query(SESSION, KEY, aggregates, 4, Limits::default()),
        query(SLIDING, KEY, aggregates, 4, Limits::default()),
        query(
            SESSION,
            r#"["name", "key"]"#,
            aggregates,
            4,
            Limits::default(),
        ),
        query(
            SESSION,
            KEY,
            r#"[{"name": "least", "function": "min", "columns": ["s"]}]"#,
            4,
            Limits::default(),
        ),
        query(
            SESSION,
            KEY,
            r#"[{"name": "list", "function": "collect_list", "columns": ["s"]}]"#,
            4,
            Limits::default(),
        ),
    ];
    for (from, packing) in queries.iter().enumerate() {
        let mut packer = Packer::new(Arc::clone(packing), 0).unwrap();
        packer.push(&batch(&[row(1, 1), row(50, 2)])).unwrap();
        let packed = packer.finish().unwrap();
        for (to, merging) in queries.iter().enumerate() {
            let mut merger = Merger::new(merging).unwrap();
            let results = packed
                .iter()
                .map(|packed| merger.push(packed))
                .collect::<Result<Vec<_>>>();
            assert_eq!(
                results.is_ok(),
                from == to,
                "rows of query {from} in query {to}"
            );
        }
    }
}
