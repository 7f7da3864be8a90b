//! Cogroups: aggregates that see the rows of one input only.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use windrow::aggregate::accumulators::Accumulators;
use windrow::aggregate::collect_list::CollectList;
use windrow::aggregate::collect_set::CollectSet;
use windrow::aggregate::column::{Column, Values};
use windrow::aggregate::count::Count;
use windrow::aggregate::first_last::{First, Last};
use windrow::aggregate::min_max::Max;
use windrow::aggregate::min_max_by::MinBy;
use windrow::aggregate::slot::Slot;
use windrow::aggregate::sum::Sum;
use windrow::aggregate::variance::{Spread, Variance};
use windrow::aggregate::{Aggregate, InputRows, Run};
use windrow::arrow::batch::merger::Merger;
use windrow::arrow::batch::packer::Packer;
use windrow::arrow::plan::query::Query;
use windrow::arrow::plan::spec::Spec;
use windrow::arrow::stream::operator::Operator;
use windrow::interrupt::Interrupt;

use crate::aggregate_trial::{
    Cell, Event, Input, Kind, Random, Trial, WINDOWS, cells, same, trial_of, value,
};
use crate::feeds::{Fed, SESSIONS, SLIDING, batch, fed, feeds, rows, schema};

type Bytes = Box<[u8]>;
type Part = (Box<dyn Aggregate>, Range<usize>, Option<u32>);

/// Over a column of integers, one of bytes, and the column of inputs.
fn aggregates() -> Vec<(Box<dyn Aggregate>, Range<usize>)> {
    vec![
        (Box::new(Count::default()), 0..0),
        (Box::new(Count::default()), 1..2),
        (Box::new(Sum::<i64>::new(0)), 0..1),
        (Box::new(Max::<i64>::default()), 0..1),
        (Box::new(First::<Bytes>::new(false)), 1..2),
        (Box::new(First::<Bytes>::new(true)), 1..2),
        (Box::new(Last::<i64>::new(false)), 0..1),
        (Box::new(Last::<i64>::new(true)), 0..1),
        (Box::new(CollectList::<i64>::default()), 0..1),
        (Box::new(CollectSet::<Bytes>::default()), 1..2),
        (Box::new(MinBy::<i64, Bytes>::default()), 0..2),
        (
            Box::new(Variance::<i64>::new(Spread {
                population: true,
                root: false,
                scale: 1.0,
            })),
            0..1,
        ),
    ]
}

/// Each aggregate three times: of all inputs, of the first and of the second.
fn parts() -> Vec<Part> {
    let inputs = [None, Some(0), Some(1)];
    inputs
        .into_iter()
        .flat_map(|only| {
            aggregates()
                .into_iter()
                .map(move |(states, columns)| (states, columns, only))
        })
        .collect()
}

/// Rows of three inputs, of which the bank asks for two, and of none.
fn trials() -> impl Strategy<Value = Trial> {
    let small = |values: Range<i64>| (Kind::Int, values.prop_map(Cell::Int).boxed());
    trial_of(vec![
        small(-3..4),
        (Kind::Bytes, value(Kind::Bytes)),
        small(0..3),
    ])
}

fn is_of(event: &Event, only: Option<u32>) -> bool {
    only.is_none_or(
        |input| matches!(event.cells[2], Cell::Int(number) if number == i64::from(input)),
    )
}

/// What an aggregate gives over the rows of its input alone, each in its slot.
fn alone(
    (mut states, columns, only): Part,
    slots: &[u32],
    events: &[Event],
    windows: usize,
) -> Vec<Cell> {
    let (slots, own): (Vec<Slot>, Vec<Event>) = slots
        .iter()
        .zip(events)
        .filter(|(_, event)| is_of(event, only))
        .map(|(&slot, event)| (Slot(slot), event.clone()))
        .unzip();
    let input = Input::new(&[Kind::Int, Kind::Bytes, Kind::Int], &own);
    states.resize(windows);
    states
        .update(
            &slots,
            InputRows {
                inputs: &input.columns[columns],
                ..input.rows()
            },
        )
        .unwrap();
    cells(
        &states
            .lower(&(0..windows as u32).map(Slot).collect::<Vec<_>>())
            .unwrap(),
    )
}

fn agree(got: &[Column<'_>], expected: &[Vec<Cell>]) -> bool {
    got.len() == expected.len()
        && got
            .iter()
            .zip(expected)
            .all(|(got, expected)| same(&Cell::List(cells(got)), &Cell::List(expected.clone())))
}

proptest! {
    #![proptest_config(crate::cases::usually(256))]

    #[test]
    fn oracle_an_aggregate_of_an_input_sees_its_rows_alone(trial in trials(), cut in 0..40_usize) {
        let slots: Vec<u32> = trial.events.iter().map(|event| event.key as u32).collect();
        let mut accumulators = Accumulators::cogrouped(parts());
        accumulators.resize(WINDOWS);
        let cut = cut.min(slots.len());
        for rows in [0..cut, cut..slots.len()] {
            let input = Input::new(&trial.kinds, &trial.events[rows.clone()]);
            let into: Vec<Slot> = slots[rows].iter().copied().map(Slot).collect();
            accumulators.update(&into, &input.times, &input.seq_nos, &input.columns).unwrap();
        }
        let all: Vec<Slot> = (0..WINDOWS as u32).map(Slot).collect();
        let loaded = accumulators.load(&accumulators.save(&all)).unwrap();
        let expected: Vec<Vec<Cell>> = parts().into_iter().map(|part| alone(part, &slots, &trial.events, WINDOWS)).collect();
        prop_assert!(agree(&accumulators.lower(&all).unwrap(), &expected));
        prop_assert!(agree(&loaded.lower(&all).unwrap(), &expected));
        let mut lifted = accumulators.fresh();
        lifted.resize(WINDOWS);
        let input = Input::new(&trial.kinds, &trial.events);
        for (row, &slot) in slots.iter().enumerate() {
            lifted.lift(Slot(slot), row, &input.times, &input.seq_nos, &input.columns).unwrap();
        }
        prop_assert!(agree(&lifted.lower(&all).unwrap(), &expected), "row by row");
        let mut fresh = accumulators.fresh();
        fresh.resize(WINDOWS);
        let input = Input::new(&trial.kinds, &trial.events);
        fresh.update(&slots.iter().copied().map(Slot).collect::<Vec<_>>(), &input.times, &input.seq_nos, &input.columns).unwrap();
        prop_assert!(agree(&fresh.lower(&all).unwrap(), &expected), "a fresh bank has the same inputs");
    }

    #[test]
    fn oracle_a_sweep_of_an_input_sees_its_rows_alone(trial in trials(), most in 0..12_usize) {
        let mut events = trial.events.clone();
        events.sort_by_key(|event| (event.time, event.seq_no));
        let random = &mut Random(trial.seed);
        let mut bounds = |count: usize| {
            let mut bounds: Vec<u32> = (0..count).map(|_| random.below(events.len() + 1) as u32).collect();
            bounds.sort_unstable();
            bounds
        };
        let runs: Vec<Run> = bounds(most).into_iter().zip(bounds(most)).map(|(from, to)| Run { from, to: to.max(from) }).collect();
        let input = Input::new(&trial.kinds, &events);
        let accumulators = Accumulators::cogrouped(parts());
        let swept = accumulators.sweep(&input.times, &input.seq_nos, &input.columns, &runs, &Interrupt::never()).unwrap();
        let within = |(slot, run): (usize, &Run)| (run.from..run.to).map(move |row| (slot as u32, row));
        let (slots, members): (Vec<u32>, Vec<Event>) =
            runs.iter().enumerate().flat_map(within).map(|(slot, row)| (slot, events[row as usize].clone())).unzip();
        let expected: Vec<Vec<Cell>> = parts().into_iter().map(|part| alone(part, &slots, &members, runs.len())).collect();
        prop_assert!(agree(&swept, &expected), "{runs:?}");
    }

    #[test]
    fn differential_records_blocks_and_one_run_give_the_same_windows(
        records in feeds(60),
        windows in prop::sample::select(vec![SESSIONS, SLIDING]),
        (size, loose) in (1..20_usize, 0..20_usize),
    ) {
        let spec = spec(windows, OF_INPUTS);
        let mut operator = Operator::new(&spec, &schema(), Vec::new()).unwrap();
        for piece in records.chunks(size) {
            prop_assert_eq!(operator.push(&batch(piece)).unwrap().num_rows(), 0);
        }
        let mut query = Query::new(&spec, &schema()).unwrap();
        query.limits.pack_loose = loose;
        let query = Arc::new(query);
        let (results, _) = query.run(records.chunks(size).map(|piece| Ok(batch(piece))), 2).unwrap();
        let mut packed = Vec::new();
        for (split, piece) in (0..).zip(records.chunks(size)) {
            let mut packer = Packer::new(Arc::clone(&query), split).unwrap();
            packed.extend(packer.push(&batch(piece)).unwrap());
            packed.extend(packer.finish().unwrap());
        }
        let mut merged = Vec::new();
        let mut blocks: Vec<_> = packed.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect();
        blocks.sort_by_key(|row| windrow::arrow::format::packed::unpack(row).map(|rows| (rows[0].shard, rows[0].first)).unwrap());
        let mut merger = Merger::new(&query).unwrap();
        blocks.iter().for_each(|block| merged.extend(merger.push(block).unwrap()));
        merged.extend(merger.finish().unwrap());

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

/// The four aggregates of a result that `feeds::rows` shows, each of another input.
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
    rows(&with_time)
        .into_iter()
        .map(|(key, start, end, values, ..)| (key, start, end, values))
        .collect()
}

#[test]
fn a_bank_of_inputs_without_a_column_of_them_is_an_error() {
    let part = || -> Part { (Box::new(Count::default()), 0..0, Some(0)) };
    let mut accumulators = Accumulators::cogrouped([part()]);
    accumulators.resize(1);
    assert!(accumulators.update(&[Slot(0)], &[], &[], &[]).is_err());
    assert!(accumulators.lift(Slot(0), 0, &[], &[], &[]).is_err());
    assert!(
        accumulators
            .sweep(
                &[],
                &[],
                &[],
                &[Run { from: 0, to: 1 }],
                &Interrupt::never()
            )
            .is_err()
    );
}

#[test]
fn a_row_without_an_input_is_of_none() {
    let part: Part = (Box::new(Count::default()), 0..0, Some(0));
    let mut accumulators = Accumulators::cogrouped([part]);
    accumulators.resize(1);
    let zeros = Values::Int(vec![0; 2].into());
    let numbers = Column {
        values: zeros,
        validity: Some([false, true].into_iter().collect()),
    };
    let (slots, places) = ([Slot(0); 2], [windrow::time::Time(0); 2]);
    accumulators
        .update(&slots, &places, &[0; 2], std::slice::from_ref(&numbers))
        .unwrap();
    accumulators
        .lift(Slot(0), 0, &places, &[0; 2], std::slice::from_ref(&numbers))
        .unwrap();
    assert!(same(
        &cells(&accumulators.lower(&[Slot(0)]).unwrap()[0])[0],
        &Cell::Int(1)
    ));
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
    for (aggregates, inputs, told) in [
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
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_row_of_no_input_is_an_error_and_a_tick_of_none_is_not() {
    let query = Arc::new(Query::new(&spec(SESSIONS, OF_INPUTS), &schema()).unwrap());
    let run = |records: &[Fed]| query.run(std::iter::once(Ok(batch(records))), 1);
    for (input, fits) in [(-1, false), (0, true), (1, true), (2, false)] {
        let record = Fed {
            input,
            ..fed("a", 1, 1)
        };
        assert_eq!(run(std::slice::from_ref(&record)).is_ok(), fits, "{input}");
        assert!(
            run(&[Fed {
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
    let told = run(&[Fed {
        input: 7,
        ..fed("a", 1, 1)
    }])
    .err()
    .map(|error| error.to_string())
    .unwrap_or_default();
    assert!(
        told.contains("\"input\"") && told.contains("input 7") && told.contains("0 to 1"),
        "{told}"
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
                fed("a", 1, 1),
                Fed {
                    input: 1,
                    ..fed("b", 5, 2)
                },
                fed("b", 100, 3),
            ]))
            .unwrap();
        assert_eq!(finals.num_rows(), 2 * usize::from(one_time));
        operator
            .push(&batch(&[Fed {
                input: 1,
                ..fed("b", 5, 4)
            }]))
            .unwrap();
        assert_eq!(operator.counters().late, late, "one time: {one_time}");
    }
}

#[test]
fn a_fingerprint_tells_the_inputs_of_aggregates() {
    let pages = |aggregates: &str| {
        Operator::new(&spec(SESSIONS, aggregates), &schema(), Vec::new())
            .unwrap()
            .pages()
            .unwrap()
    };
    let count = |input: &str| format!(r#"[{{"name":"n","function":"count"{input}}}]"#);
    let mut other = Operator::new(
        &spec(SESSIONS, &count(r#","input":1"#)),
        &schema(),
        Vec::new(),
    )
    .unwrap();
    for (input, fits) in [
        ("", false),
        (r#","input":0"#, false),
        (r#","input":1"#, true),
    ] {
        let pages = pages(&count(input));
        assert_eq!(
            other
                .restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>())
                .is_ok(),
            fits,
            "{input}"
        );
    }
}
