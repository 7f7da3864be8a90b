//! Cogroups over Arrow batches: one answer in every way, and inputs that are refused.

use std::sync::Arc;

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::interrupt::Interrupt;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    Event, SESSIONS, SLIDING, batch, event, events, rows, schema,
};

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn differential_records_blocks_and_one_run_give_the_same_windows(
        records in events(60),
        windows in prop::sample::select(vec![SESSIONS, SLIDING]),
        (size, loose) in (1..20_usize, 0..20_usize),
    ) {
        let spec = spec(windows, OF_INPUTS);
        let mut operator = Operator::new(&spec, &schema(), Vec::new()).unwrap();
        for piece in records.chunks(size) {
            prop_assert_eq!(operator.push(&batch(piece)).unwrap()[0].num_rows(), 0);
        }
        let mut query = Query::new(&spec, &schema()).unwrap();
        query.limits.pack_loose = loose;
        let query = Arc::new(query);
        let (results, _) = query.run(records.chunks(size).map(|piece| Ok(batch(piece))), 2, &Interrupt::never()).unwrap();
        let mut packed = Vec::new();
        for (split, piece) in (0..).zip(records.chunks(size)) {
            let mut packer = Packer::new(Arc::clone(&query), split).unwrap();
            packed.extend(packer.push(&batch(piece)).unwrap());
            packed.extend(packer.finish().unwrap());
        }
        let mut merged = Vec::new();
        let mut blocks: Vec<_> = packed.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect();
        blocks.sort_by_key(|row| crate::format::packed::unpack(row).map(|rows| (rows[0].shard, rows[0].first)).unwrap());
        let mut merger = Merger::new(&query).unwrap();
        blocks.iter().for_each(|block| merged.extend(merger.push(block).unwrap()));
        merged.extend(merger.finish().unwrap());
        let (_, merged): (Vec<_>, Vec<_>) = merged.into_iter().unzip();

        let shown = |batches: &[arrow_array::RecordBatch]| {
            let mut shown: Vec<_> = batches.iter().flat_map(shown).collect();
            shown.sort();
            shown
        };
        let expected = shown(&results);
        prop_assert_eq!(shown(&merged), expected.clone());
        let finals = rows(&operator.finish().unwrap());
        let mut finals: Vec<_> = finals.into_iter().map(|(key, start, end, values, ..)| (key, start, end, values)).collect();
        finals.sort();
        prop_assert_eq!(finals, expected);
    }
}

/// The four aggregates of a result that `operator_batches::rows` shows, each of another input.
const OF_INPUTS: &str = r#"[{"name":"n","function":"count","input":1},{"name":"total","function":"sum","columns":["x"]},
    {"name":"latest","function":"last","columns":["x"],"input":0},{"name":"all","function":"collect_list","columns":["x"],"input":1}]"#;

fn json(windows: &str, aggregates: &str, inputs: &str) -> String {
    format!(
        r#"{{"keys":["k"],"time":"ts","tick":"tick","shards":4,"windows":{windows},"aggregates":{aggregates},"inputs":{inputs}}}"#
    )
}

fn spec(windows: &str, aggregates: &str) -> Spec {
    Spec::parse(&json(
        windows,
        aggregates,
        r#"{"column":"input","count":2}"#,
    ))
    .unwrap()
}

/// Key, start, end and aggregates of a result's rows.
fn shown(result: &arrow_array::RecordBatch) -> Vec<(String, i64, i64, String)> {
    let columns = result
        .columns()
        .iter()
        .cloned()
        .chain([arrow_array::cast::AsArray::as_struct(result.column(1))
            .column(1)
            .clone()]);
    let names = ["k", "window", "n", "total", "latest", "all", "time"];
    let columns = names
        .into_iter()
        .zip(columns)
        .map(|(name, column)| (name, column, true));
    let with_time = arrow_array::RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    rows(&[with_time])
        .into_iter()
        .map(|(key, start, end, values, ..)| (key, start, end, values))
        .collect()
}

#[test]
fn inputs_that_are_not_there_are_refused_by_name() {
    let count = |input: u32| format!(r#"[{{"name":"n","function":"count","input":{input}}}]"#);
    let made = |aggregates: &str, inputs: &str| {
        Query::new(
            &Spec::parse(&json(SESSIONS, aggregates, inputs)).unwrap(),
            &schema(),
        )
    };
    let two = r#"{"column":"input","count":2}"#;
    assert!(made(&count(1), two).is_ok());
    for (aggregates, inputs, message) in [
        (count(2), two, "aggregate \"n\": input: got 2"),
        (count(0), "null", "aggregate \"n\": input: got 0"),
        (
            count(0),
            r#"{"column":"input","count":0}"#,
            "inputs: count: got 0",
        ),
        (count(0), r#"{"column":"other","count":2}"#, "\"other\""),
        (count(0), r#"{"column":"k","count":2}"#, "\"k\""),
    ] {
        let error = made(&aggregates, inputs)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_row_of_no_input_is_an_error_and_a_tick_of_none_is_not() {
    let query = Arc::new(Query::new(&spec(SESSIONS, OF_INPUTS), &schema()).unwrap());
    let run =
        |records: &[Event]| query.run(std::iter::once(Ok(batch(records))), 1, &Interrupt::never());
    for (input, fits) in [(-1, false), (0, true), (1, true), (2, false)] {
        let record = Event {
            input,
            ..event("a", 1, 1)
        };
        assert_eq!(run(std::slice::from_ref(&record)).is_ok(), fits, "{input}");
        assert!(
            run(&[Event {
                tick: true,
                ..record.clone()
            }])
            .is_ok(),
            "ticks are left out"
        );
        let mut operator =
            Operator::new(&spec(SESSIONS, OF_INPUTS), &schema(), Vec::new()).unwrap();
        assert_eq!(operator.push(&batch(&[record])).is_ok(), fits, "{input}");
    }
    let message = run(&[Event {
        input: 7,
        ..event("a", 1, 1)
    }])
    .err()
    .map(|error| error.to_string())
    .unwrap_or_default();
    assert!(
        message.contains("\"input\"") && message.contains("input 7") && message.contains("0 to 1"),
        "{message}"
    );
}

#[test]
fn inputs_of_one_time_close_one_anothers_windows() {
    for (one_time, late) in [(false, 0), (true, 1)] {
        let inputs = format!(r#"{{"column":"input","count":2,"one_time":{one_time}}},"grace":0"#);
        let spec = Spec::parse(&json(SESSIONS, OF_INPUTS, &inputs)).unwrap();
        let mut operator = Operator::new(&spec, &schema(), Vec::new()).unwrap();
        let finals = operator
            .push(&batch(&[
                event("a", 1, 1),
                Event {
                    input: 1,
                    ..event("b", 5, 2)
                },
                event("b", 100, 3),
            ]))
            .unwrap();
        assert_eq!(finals[0].num_rows(), 2 * usize::from(one_time));
        operator
            .push(&batch(&[Event {
                input: 1,
                ..event("b", 5, 4)
            }]))
            .unwrap();
        assert_eq!(operator.counters().late, late, "one time: {one_time}");
    }
}

#[test]
fn a_fingerprint_has_the_inputs_of_aggregates() {
    let pages = |aggregates: &str| {
        Operator::new(&spec(SESSIONS, aggregates), &schema(), Vec::new())
            .unwrap()
            .pages()
            .unwrap()
    };
    let count = |input: &str| format!(r#"[{{"name":"n","function":"count"{input}}}]"#);
    for (input, fits) in [
        ("", false),
        (r#","input":0"#, false),
        (r#","input":1"#, true),
    ] {
        let pages = pages(&count(input));
        let own = spec(SESSIONS, &count(r#","input":1"#));
        assert_eq!(
            Operator::new(&own, &schema(), Vec::new())
                .unwrap()
                .restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>())
                .is_ok(),
            fits,
            "{input}"
        );
    }
}
