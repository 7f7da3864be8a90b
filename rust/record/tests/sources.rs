//! Sources of an operator that keeps the slowest one's time: numbered rows, ticks of one and of
//! all.

use std::sync::Arc;

use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    Event, Row, SESSIONS, SLIDING, batch, by_key, event, events, rows, spec,
};

/// Rows with the number of each one's source.
fn numbered(records: &[Event], sources: &[Option<i32>]) -> RecordBatch {
    let plain = batch(records);
    let numbers: ArrayRef = Arc::new(Int32Array::from(sources.to_vec()));
    let fields = plain.schema();
    let names = fields.fields().iter().map(|field| field.name().clone());
    let columns = plain.columns().iter().cloned();
    RecordBatch::try_from_iter_with_nullable(
        names
            .zip(columns)
            .map(|(name, column)| (name, column, true))
            .chain([("number".to_owned(), numbers, true)]),
    )
    .unwrap()
}

fn operator(windows: &str) -> Operator {
    let spec = spec(windows, r#","grace":15,"sources":"number""#);
    Operator::new(&spec, &numbered(&[], &[]).schema(), Vec::new()).unwrap()
}

fn tick(time: i64) -> Event {
    Event {
        tick: true,
        ..event("", time, 0)
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn differential_any_cut_of_numbered_rows_gives_the_same_finals(
        (records, sources) in events(60).prop_flat_map(|records| {
            let sources = prop::collection::vec(0..3_i32, records.len());
            (Just(records), sources)
        }),
        sliding in any::<bool>(),
        size in 1..20_usize,
    ) {
        let windows = if sliding { SLIDING } else { SESSIONS };
        let (mut whole, mut cut) = (operator(windows), operator(windows));
        let sources: Vec<Option<i32>> = sources.into_iter().map(Some).collect();
        let finals = rows(&whole.push(&numbered(&records, &sources)).unwrap());
        let pieces: Vec<Row> = records
            .chunks(size)
            .zip(sources.chunks(size))
            .flat_map(|(records, sources)| rows(&cut.push(&numbered(records, sources)).unwrap()))
            .collect();
        prop_assert_eq!(by_key(&finals), by_key(&pieces));
        prop_assert_eq!(whole.counters(), cut.counters());
        prop_assert_eq!(whole.source_times().collect::<Vec<_>>(), cut.source_times().collect::<Vec<_>>());
    }
}

#[test]
fn the_slowest_source_closes_and_a_tick_without_a_number_is_of_all() {
    let mut operator = operator(SESSIONS);
    let mut push = |record: Event, source: Option<i32>| {
        let changes = rows(&operator.push(&numbered(&[record], &[source])).unwrap());
        let closed: Vec<String> = changes.into_iter().map(|row| row.0).collect();
        (closed, operator.stream_time())
    };
    let none = Vec::<String>::new();
    assert_eq!(push(tick(500), None), (none.clone(), None), "none is known");
    assert_eq!(
        push(event("a", 0, 1), Some(7)),
        (none.clone(), Some(Time(0)))
    );
    assert_eq!(
        push(event("b", 90, 1), Some(2)),
        (none.clone(), Some(Time(0)))
    );
    assert_eq!(push(tick(25), Some(7)), (none, Some(Time(25))));
    assert_eq!(
        push(tick(26), Some(7)),
        (vec!["a".to_owned()], Some(Time(26))),
        "past end + gap + grace"
    );
    assert_eq!(
        push(tick(200), None),
        (vec!["b".to_owned()], Some(Time(200)))
    );
    let times: Vec<_> = operator.source_times().collect();
    assert_eq!(
        times,
        [(0, Source(2), Time(200)), (0, Source(7), Time(200))]
    );
}

#[test]
fn a_record_without_a_number_and_a_negative_one_are_refused_by_name() {
    for (source, message) in [(None, "source null"), (Some(-1), "source -1")] {
        let error = operator(SESSIONS)
            .push(&numbered(&[event("a", 0, 1)], &[source]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("number") && error.contains(message),
            "{error}"
        );
    }
    let error = operator(SESSIONS)
        .push(&numbered(&[tick(0)], &[Some(-1)]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("source -1"), "{error}");
}

#[test]
fn numbers_are_integers_of_a_column_that_is_there() {
    for (column, message) in [("other", "\"other\""), ("k", "\"k\"")] {
        let more = format!(r#","sources":"{column}""#);
        let error = Query::new(&spec(SESSIONS, &more), &batch(&[]).schema())
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("sources") && error.contains(message),
            "{error}"
        );
    }
}

#[test]
fn a_specification_without_sources_says_nothing_of_them() {
    let with = serde_json::to_value(spec(SESSIONS, r#","sources":"number""#)).unwrap();
    let without = serde_json::to_value(spec(SESSIONS, "")).unwrap();
    assert_eq!(with["sources"], "number");
    assert!(without.get("sources").is_none());
    let read: Spec = serde_json::from_value(without).unwrap();
    assert_eq!(read.sources, None);
}
