//! The operator over Arrow batches: cuts, coalesced updates, finals, queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::interrupt::Interrupt;
use crate::core::time::Time;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use arrow_array::StringArray;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    DYNAMIC, Event, Row, SESSIONS, SLIDING, batch, by_key, event, events, operator, rows, schema,
    spec,
};

const ANY: StoreQuery = StoreQuery::Between {
    from: Time::MIN,
    to: Time::MAX,
};

fn pushed(operator: &mut Operator, records: &[Event]) -> Vec<Row> {
    rows(&operator.push(&batch(records)).unwrap())
}

fn kinds() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING])
}

/// Applies changes to a table of windows.
fn apply(table: &mut BTreeMap<(String, i64, i64), String>, changes: Vec<Row>) {
    for (key, start, end, values, op, _) in changes {
        match op.as_str() {
            "upsert" => drop(table.insert((key, start, end), values)),
            "delete" => drop(table.remove(&(key, start, end))),
            other => panic!("{other}"),
        }
    }
}

/// The windows of the batch query, sorted.
fn of_batch_query(spec: &Spec, records: &[Event]) -> Vec<(String, i64, i64, String)> {
    let query = Arc::new(Query::new(spec, &schema()).unwrap());
    let (results, _) = query
        .run(std::iter::once(Ok(batch(records))), 1, &Interrupt::never())
        .unwrap();
    let with_time = |result: &arrow_array::RecordBatch| {
        let times = result.column(1).clone();
        let times = arrow_array::cast::AsArray::as_struct(&times)
            .column(1)
            .clone();
        let columns = result.columns().iter().cloned().chain([times]);
        let names = ["k", "window", "n", "total", "latest", "all", "time"];
        arrow_array::RecordBatch::try_from_iter_with_nullable(
            names
                .into_iter()
                .zip(columns)
                .map(|(name, column)| (name, column, true)),
        )
        .unwrap()
    };
    let found = results.iter().flat_map(|result| rows(&[with_time(result)]));
    let mut found: Vec<_> = found
        .map(|(key, start, end, values, ..)| (key, start, end, values))
        .collect();
    found.sort();
    found
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn differential_a_cut_into_batches_does_not_change_finals(kind in kinds(), records in events(60), size in 1..20_usize) {
        let spec = spec(kind, r#","grace":15"#);
        let (mut whole, mut cut) = (operator(&spec), operator(&spec));
        let finals = pushed(&mut whole, &records);
        let pieces: Vec<Row> = records.chunks(size).flat_map(|piece| pushed(&mut cut, piece)).collect();
        prop_assert_eq!(by_key(&finals), by_key(&pieces));
        prop_assert_eq!(whole.counters(), cut.counters());
    }

    #[test]
    fn differential_without_grace_finals_are_those_of_the_batch_query(records in events(60), sliding in any::<bool>()) {
        let spec = spec(if sliding { SLIDING } else { SESSIONS }, "");
        let mut operator = operator(&spec);
        prop_assert_eq!(pushed(&mut operator, &records), Vec::<Row>::new());
        let finals = rows(&operator.finish().unwrap());
        let mut finals: Vec<_> = finals.into_iter().map(|(key, start, end, values, ..)| (key, start, end, values)).collect();
        finals.sort();
        prop_assert_eq!(finals, of_batch_query(&spec, &records));
    }

    #[test]
    fn coalesced_updates_make_the_same_table_with_a_row_for_each_changed_window(
        kind in kinds(),
        records in events(60),
        size in 1..20_usize,
    ) {
        let every = spec(kind, r#","grace":15,"emit":"update","op":true,"every_record":true"#);
        let last = spec(kind, r#","grace":15,"emit":"update","op":true"#);
        let (mut every, mut last) = (operator(&every), operator(&last));
        let (mut expected, mut table) = (BTreeMap::new(), BTreeMap::new());
        for piece in records.chunks(size) {
            let before = expected.clone();
            apply(&mut expected, pushed(&mut every, piece));
            let changes = pushed(&mut last, piece);
            let mut windows: Vec<_> = changes.iter().map(|row| (row.0.clone(), row.1, row.2)).collect();
            for (window, row) in windows.iter().zip(&changes) {
                prop_assert!(row.4 == "upsert" || before.contains_key(window), "what was not there is not deleted: {row:?}");
            }
            windows.sort();
            windows.dedup();
            prop_assert_eq!(windows.len(), changes.len(), "one row for each window");
            apply(&mut table, changes);
            // With dynamic gaps, a session may come again with the bounds of a closed one, and be
            // merged into another. Told one by one it takes the closed one's place and is deleted;
            // within a batch it was never there, and the closed one stays.
            table.retain(|window, _| kind != DYNAMIC || expected.contains_key(window) || !before.contains_key(window));
            prop_assert_eq!(&table, &expected);
        }
    }

    #[test]
    fn queries_see_what_is_stored_in_order_and_in_reverse(kind in kinds(), records in events(60), from in 0..300_i64, to in 0..300_i64) {
        let spec = spec(kind, r#","grace":1000,"emit":"update","op":true"#);
        let mut operator = operator(&spec);
        let mut table = BTreeMap::new();
        apply(&mut table, pushed(&mut operator, &records));
        let mut all = rows(&operator.select(ANY, &(None, None), false).unwrap());
        let stored: BTreeMap<_, _> = all.iter().map(|row| ((row.0.clone(), row.1, row.2), row.3.clone())).collect();
        prop_assert_eq!(&stored, &table);
        prop_assert!(all.is_sorted_by_key(|row| (row.0.clone(), row.2, row.1)), "key, end, start");

        let query = StoreQuery::Between { from: Time(from), to: Time(to) };
        let inside = |row: &&Row| if kind == SLIDING { (from..=to).contains(&row.1) } else { row.2 >= from && row.1 <= to };
        let expected: Vec<Row> = all.iter().filter(|row| ("a".."b").contains(&row.0.as_str())).filter(inside).cloned().collect();
        let key = |name: &str| Some(vec![Arc::new(StringArray::from(vec![name])) as arrow_array::ArrayRef]);
        let found = rows(&operator.select(query, &(key("a"), key("ab")), false).unwrap());
        prop_assert_eq!(found, expected);

        for row in &all {
            let exact = |end: i64| StoreQuery::Exact { start: Time(row.1), end: Time(end) };
            let of_key = (key(&row.0), key(&row.0));
            prop_assert_eq!(rows(&operator.select(exact(row.2), &of_key, false).unwrap()), std::slice::from_ref(row));
            prop_assert_eq!(rows(&operator.select(exact(row.2 + 1000), &of_key, false).unwrap()), []);
        }
        let backward = rows(&operator.select(ANY, &(None, None), true).unwrap());
        all.reverse();
        prop_assert_eq!(backward, all);
    }
}

/// Times and gaps of any size, and specs whose lengths are.
fn extremes() -> impl Strategy<Value = (String, String, Vec<Event>)> {
    let any = || prop_oneof![2 => any::<i64>(), 2 => -50..50_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    let key = prop::option::weighted(0.9, prop::sample::select(vec!["", "a", "ab"]));
    let row = (
        key,
        prop::option::of(any()),
        prop::option::of(any()),
        any(),
        prop::bool::weighted(0.1),
        0..2_i64,
    );
    let record = row.prop_map(|(key, time, gap, value, tick, input)| Event {
        key,
        time,
        gap,
        value: Some(value),
        tick,
        input,
    });
    let windows = prop_oneof![
        any().prop_map(|gap| format!(r#"{{"kind":"session","gap":{gap}}}"#)),
        any().prop_map(|retention| format!(
            r#"{{"kind":"session","gap_column":"gap","longest_gap":{retention}}}"#
        )),
        (any(), any()).prop_map(|(length, tick)| format!(
            r#"{{"kind":"sliding","difference":{length},"resolution":{tick}}}"#
        )),
        any().prop_map(|length| format!(
            r#"{{"kind":"sliding","difference":{length},"resolution":1}}"#
        )),
    ];
    let emission = prop::sample::select(vec![
        r#""close""#,
        r#""update""#,
        r#""update","every_record":true"#,
    ]);
    let late = prop::sample::select(vec!["drop", "emit"]);
    let inputs = prop::sample::select(vec!["null", r#"{"column":"input","count":2}"#]);
    let more = (any(), prop::option::of(any()), emission, late, inputs).prop_map(|(grace, until, emit, late, inputs)| {
        let until = until.map_or("null".to_owned(), |until| until.to_string());
        format!(r#","grace":{grace},"until":{until},"emit":{emit},"late":"{late}","inputs":{inputs},"op":true"#)
    });
    (windows, more, prop::collection::vec(record, 0..12))
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn nothing_that_is_fed_makes_an_operator_panic((windows, more, records) in extremes(), size in 1..12_usize) {
        let Ok(mut operator) = Operator::new(&spec(&windows, &more), &schema(), Vec::new()) else { return Ok(()) };
        for piece in records.chunks(size) {
            // An error is an answer; afterwards only a new operator continues.
            if operator.push(&batch(piece)).is_err() {
                return Ok(());
            }
        }
        let pages = operator.pages().unwrap();
        let mut again = Operator::new(&spec(&windows, &more), &schema(), Vec::new()).unwrap();
        again.restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(again.pages().unwrap(), pages);
        let finals = (operator.finish().map(|batch| rows(&batch)).ok(), again.finish().map(|batch| rows(&batch)).ok());
        prop_assert_eq!(finals.0, finals.1);
    }
}

#[test]
fn a_tick_closes_and_is_no_record() {
    let mut operator = operator(&spec(SESSIONS, r#","grace":0"#));
    let tick = |time| Event {
        tick: true,
        key: None,
        ..event("", time, 0)
    };
    assert!(
        pushed(&mut operator, &[event("a", 100, 1), tick(110)]).is_empty(),
        "reached, not passed"
    );
    let finals = pushed(&mut operator, &[tick(111)]);
    assert_eq!(
        finals,
        [(
            "a".into(),
            100,
            100,
            "1 1 1 [1]".into(),
            "upsert".into(),
            100
        )]
    );
    let counters = operator.counters();
    assert_eq!(
        (counters.records, counters.ticks, counters.dropped()),
        (1, 2, 0)
    );
}

#[test]
fn a_tick_of_no_input_moves_all_inputs_of_a_cogroup_at_once() {
    let sessions = spec(
        SESSIONS,
        r#","grace":0,"inputs":{"column":"input","count":2}"#,
    );
    let sql = |nth: Option<i64>, time| {
        let rows = batch(&[Event {
            tick: true,
            key: None,
            ..event("", time, 0)
        }]);
        let mut columns = rows.columns().to_vec();
        columns[5] = Arc::new(arrow_array::Int64Array::from(vec![nth]));
        arrow_array::RecordBatch::try_new(rows.schema(), columns).unwrap()
    };
    let mut operator = operator(&sessions);
    pushed(&mut operator, &[event("a", 100, 1)]);
    assert_eq!(
        operator.push(&sql(Some(0), 500)).unwrap()[0].num_rows(),
        0,
        "the other input holds everything open"
    );
    assert_eq!(operator.push(&sql(None, 500)).unwrap()[0].num_rows(), 1);
    assert_eq!(operator.counters().ticks, 2);
}

#[test]
fn a_bad_gap_fails_by_name_where_that_was_asked() {
    let windows = r#"{"kind":"session","gap_column":"gap","longest_gap":20,"invalid_gap":"error"}"#;
    let mut operator = operator(&spec(windows, r#","grace":0"#));
    let message = operator
        .push(&batch(&[
            event("a", 1, 1),
            Event {
                gap: Some(0),
                ..event("ab", 2, 1)
            },
        ]))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("\"gap\"")
            && message.contains("key ab")
            && message.contains("1970-01-01T00:00:00.000002"),
        "{message}"
    );
    let message = operator.push(&batch(&[])).unwrap_err().to_string();
    assert!(message.contains("failed halfway"), "{message}");
}

#[test]
fn a_record_without_a_tie_is_left_out_and_not_refused_for_its_gap() {
    let windows =
        r#"{"kind":"session","gap_column":"gap","longest_gap":20,"invalid_gap":"error","most":4}"#;
    let mut operator = operator(&spec(windows, r#","grace":0,"tie":"x""#));
    let untied = Event {
        value: None,
        gap: Some(0),
        ..event("a", 1, 1)
    };
    operator.push(&batch(&[untied])).unwrap();
    assert_eq!(operator.counters().null_ties, 1);
}

#[test]
fn a_sliding_window_that_cannot_be_shown_is_an_overflow() {
    let latest = i64::MAX - 1;
    let records = [event("a", latest - 9, 1), event("a", latest, 2)];
    let mut strict = operator(&spec(SLIDING, r#","grace":0,"emit":"update","op":true"#));
    let message = strict.push(&batch(&records)).unwrap_err().to_string();
    assert!(
        message.contains("\"ts\"") && message.contains("beyond the range"),
        "{message}"
    );
    let mut early = operator(&spec(SLIDING, r#","grace":0,"emit":"update","op":true"#));
    let message = early.push(&batch(&[event("a", i64::MIN + 9, 1)]));
    let message = message.unwrap_err().to_string();
    let words = r#"column "ts": the window of the record at "#;
    assert!(
        message.starts_with(words)
            && message.ends_with("has a bound beyond the range of timestamp[us]"),
        "{message}"
    );
    let mut shown = operator(&spec(
        SLIDING,
        r#","grace":0,"emit":"update","op":true,"kafka":{"saturate":true}"#,
    ));
    assert_eq!(
        pushed(&mut shown, &records).iter().map(|row| row.2).max(),
        Some(i64::MAX)
    );
}

#[test]
fn kafka_drops_null_values_of_sliding_windows_only() {
    let null = [Event {
        value: None,
        ..event("a", 100, 0)
    }];
    for (windows, dropped) in [(SLIDING, 1), (SESSIONS, 0)] {
        let mut operator = operator(&spec(windows, r#","grace":0,"kafka":{"value":"x"}"#));
        pushed(&mut operator, &null);
        assert_eq!(
            (
                operator.counters().null_values,
                operator.stream_time().is_none()
            ),
            (dropped, dropped == 1)
        );
    }
}
