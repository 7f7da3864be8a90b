//! The two ways into windows: records that are joined many at once give the same windows as record
//! by record.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use crate::state::page::Label;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    self, DYNAMIC, ENDS, Event, Row, SESSIONS, SLIDING, batch, by_key, event, events, operator,
    rows, spec_of,
};
use crate::record::tests::pages::bounds;
use crate::shard::tests::shard_stream::apply;

const ANY: StoreQuery = StoreQuery::Between {
    from: Time::MIN,
    to: Time::MAX,
};
const COARSE: &str = r#"{"kind":"sliding","difference":40,"resolution":5}"#;
const ONE_BY_ONE: &str = r#","every_record":true"#;
const INPUTS: &str = r#","inputs":{"column":"input","count":2}"#;
const OF_INPUTS: &str = r#"[{"name":"n","function":"count","input":1},{"name":"total","function":"sum","columns":["x"]},
    {"name":"latest","function":"last","columns":["x"],"input":0},{"name":"all","function":"collect_list","columns":["x"],"input":1}]"#;

/// A spec; in a cogroup, of aggregates that see one input or both.
fn spec(windows: &str, more: &str) -> Spec {
    if more.contains(INPUTS) {
        spec_of(windows, OF_INPUTS, more)
    } else {
        operator_batches::spec(windows, more)
    }
}

/// Windows, and everything behind them.
fn queries() -> impl Strategy<Value = (&'static str, String)> {
    let kind = prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING, COARSE]);
    let emit = prop::sample::select(vec![r#""close""#, r#""update""#]);
    let late = prop::sample::select(vec![r#""drop""#, r#""emit""#]);
    let grace = prop::sample::select(vec![Some(0), Some(15), Some(60), Some(200), None]);
    let more = prop::sample::select(vec!["", INPUTS]);
    let more = (more, any::<bool>());
    (kind, emit, late, grace, prop::option::of(0..80_i64), more).prop_map(
        |(kind, emit, late, grace, until, (inputs, ends))| {
            let ends = if ends && [SESSIONS, DYNAMIC].contains(&kind) {
                ENDS
            } else {
                ""
            };
            let least = if kind == COARSE { 80 } else { 20 };
            let until = until.map_or(String::new(), |more| {
                format!(r#","until":{}"#, least + grace.unwrap_or(0) + more)
            });
            let grace = grace.map_or(String::new(), |grace| format!(r#","grace":{grace}"#));
            (
                kind,
                format!(r#","emit":{emit},"late":{late},"op":true{grace}{until}{inputs}{ends}"#),
            )
        },
    )
}

/// Pieces of records, some of them before 1970.
fn pieces() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let sizes = prop::collection::vec(1..40_usize, 80);
    (events(80), sizes, prop::sample::select(vec![0, 70, 250])).prop_map(
        |(mut records, sizes, back)| {
            for time in records.iter_mut().filter_map(|record| record.time.as_mut()) {
                *time -= back;
            }
            let mut rest = records.as_slice();
            let cut = sizes.into_iter().map(|size| {
                let (piece, others) = rest.split_at(size.min(rest.len()));
                rest = others;
                piece.to_vec()
            });
            cut.take_while(|piece| !piece.is_empty()).collect()
        },
    )
}

fn pushed(operator: &mut Operator, records: &[Event]) -> Vec<Row> {
    rows(&operator.push(&batch(records)).unwrap())
}

type Window = (String, i64, i64);

fn window(row: &Row) -> Window {
    (row.0.clone(), row.1, row.2)
}

fn visible(operator: &Operator) -> BTreeSet<Window> {
    let shown = operator.select(ANY, &(None, None), false).unwrap();
    rows(&shown).iter().map(window).collect()
}

/// The changes of records that are pushed one by one, and the windows among them that stood in the
/// store before all of them and until their first change. One that has only the bounds of a window
/// that has closed meanwhile (rules 3.4) is new.
fn stepwise(operator: &mut Operator, records: &[Event]) -> (Vec<Row>, BTreeSet<Window>) {
    let before = visible(operator);
    let (mut changes, mut stood) = (Vec::<Row>::new(), BTreeSet::new());
    for record in records {
        let still: Vec<Window> = visible(operator).intersection(&before).cloned().collect();
        let emitted = pushed(operator, std::slice::from_ref(record));
        let is_first = |emitted: &Window| changes.iter().all(|row| window(row) != *emitted);
        let first: BTreeSet<Window> = emitted.iter().map(window).filter(is_first).collect();
        stood.extend(still.into_iter().filter(|window| first.contains(window)));
        changes.extend(emitted);
    }
    (changes, stood)
}

/// What a batch emits at its end for these single changes. `stood`: the windows before the batch.
fn coalesced(changes: Vec<Row>, stood: &BTreeSet<Window>) -> Vec<Row> {
    let (late, changes): (Vec<Row>, Vec<Row>) =
        changes.into_iter().partition(|row| row.4 == "late");
    let last: BTreeMap<Window, Row> = changes.into_iter().map(|row| (window(&row), row)).collect();
    let emitted = last
        .into_iter()
        .filter(|(window, row)| row.4 == "upsert" || stood.contains(window))
        .map(|(_, row)| row);
    let mut emitted: Vec<Row> = late.into_iter().chain(emitted).collect();
    emitted.sort();
    emitted
}

/// The stored windows, as rows and as pages.
fn stored(operator: &Operator) -> (Vec<Row>, Vec<(String, RecordBatch)>) {
    let shown = rows(&operator.select(ANY, &(None, None), false).unwrap());
    let pages = operator.pages().unwrap();
    let pages = pages.iter().skip(1).map(|page| {
        let label = Label::read(page).unwrap();
        let rows: Vec<RecordBatch> = StreamReader::try_new(page.as_slice(), None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let rows = RecordBatch::try_from_iter(
            rows[0]
                .schema()
                .fields()
                .iter()
                .map(|field| field.name())
                .zip(rows[0].columns().to_vec()),
        );
        (
            format!("{} {:?}", label.id().unwrap(), bounds(&label)),
            rows.unwrap(),
        )
    });
    (shown, pages.collect())
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(128))]

    #[test]
    fn differential_records_joined_together_equal_records_one_by_one((kind, more) in queries(), pieces in pieces()) {
        let one_by_one = spec(kind, &(more.clone() + ONE_BY_ONE));
        let (mut together, mut alone, mut steps) = (operator(&spec(kind, &more)), operator(&one_by_one), operator(&one_by_one));
        let closes = more.contains("close");
        let mut written = BTreeMap::new();
        for piece in &pieces {
            let (mut got, expected) = (pushed(&mut together, piece), pushed(&mut alone, piece));
            if closes {
                prop_assert_eq!(by_key(&got), by_key(&expected));
            } else {
                let (changes, stood) = stepwise(&mut steps, piece);
                prop_assert_eq!(&changes, &expected);
                got.sort();
                prop_assert_eq!(got, coalesced(expected, &stood));
            }
            prop_assert_eq!(Counters { updates: 0, ..together.counters() }, Counters { updates: 0, ..alone.counters() });
            prop_assert_eq!(together.windows_open(), alone.windows_open());
            prop_assert_eq!(together.stream_time(), alone.stream_time());
            prop_assert_eq!(stored(&together), stored(&alone));
            apply(&mut written, together.changed_pages().unwrap());
        }
        if !pieces.is_empty() {
            let mut again = operator(&spec(kind, &more));
            again.restore(&written.values().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(stored(&again), stored(&together), "changed pages make the same state");
        }
        prop_assert_eq!(rows(&together.finish().unwrap()), rows(&alone.finish().unwrap()));
    }

    #[test]
    fn differential_within_the_grace_no_cut_changes_the_table_or_the_pages(
        kind in prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING, COARSE]), emit in prop::sample::select(vec!["close", "update"]),
        records in events(80), sizes in 1..30_usize,
    ) {
        // Nothing is behind: times go back by less than this.
        let spec = spec(kind, &format!(r#","grace":700,"emit":"{emit}","op":true"#));
        let (mut whole, mut cut) = (operator(&spec), operator(&spec));
        pushed(&mut whole, &records);
        records.chunks(sizes).for_each(|piece| drop(pushed(&mut cut, piece)));
        prop_assert_eq!(whole.counters().late, 0);
        prop_assert_eq!(stored(&whole), stored(&cut));
    }
}

#[test]
fn what_is_born_and_merged_within_a_batch_leaves_no_row() {
    let spec = spec(SESSIONS, r#","grace":100,"emit":"update","op":true"#);
    let mut operator = operator(&spec);
    pushed(&mut operator, &[event("a", 100, 1)]);
    // gap 10:   100 ····│   108, 95 join it      130 alone; 119 and 125 bridge to it
    let emitted = pushed(
        &mut operator,
        &[
            event("a", 108, 2),
            event("a", 130, 3),
            event("a", 95, 4),
            event("a", 125, 5),
            event("a", 117, 6),
        ],
    );
    let emitted: Vec<_> = emitted
        .iter()
        .map(|row| (row.1, row.2, row.3.as_str(), row.4.as_str()))
        .collect();
    assert_eq!(
        emitted,
        [
            (100, 100, "null null null null", "delete"),
            (95, 130, "6 21 3 [4, 1, 2, 6, 5, 3]", "upsert")
        ]
    );
    assert_eq!(
        operator.counters().updates,
        3,
        "those of the first batch too"
    );
}

#[test]
fn what_has_closed_within_the_batch_is_not_deleted() {
    let spec = spec(DYNAMIC, r#","grace":60,"emit":"update","op":true"#);
    let mut operator = operator(&spec);
    let with_gap = |time, gap| Event {
        gap: Some(gap),
        ..event("a", time, 1)
    };
    pushed(&mut operator, &[with_gap(165, 1)]);
    // T = 227: the close time is 167, after the reach of the session, and not after that of 165
    // with a gap of 3, which 156 joins.
    let emitted = pushed(
        &mut operator,
        &[event("b", 227, 1), with_gap(165, 3), with_gap(156, 9)],
    );
    let emitted: Vec<_> = emitted
        .iter()
        .map(|row| (row.0.as_str(), row.1, row.2, row.4.as_str()))
        .collect();
    assert_eq!(
        emitted,
        [("b", 227, 227, "upsert"), ("a", 156, 165, "upsert")]
    );
}

#[test]
fn what_has_closed_within_the_batch_is_not_joined() {
    let spec = spec(SESSIONS, r#","grace":20,"op":true"#);
    // gap 10, T = 101: the close time is 81
    //   70 ········ 80│81          the session of 70 reaches 80 and is closed; 71 reaches 81
    for (time, late) in [(70, 1), (71, 0), (80, 0), (81, 0), (82, 0)] {
        let mut operator = operator(&spec);
        let finals = pushed(
            &mut operator,
            &[event("a", 70, 1), event("b", 101, 1), event("a", time, 2)],
        );
        let finals: Vec<_> = finals
            .iter()
            .map(|row| (row.0.as_str(), row.1, row.2))
            .collect();
        assert_eq!(finals, [("a", 70, 70)], "{time}");
        assert_eq!(
            (operator.counters().late, operator.windows_open()),
            (late, 2 - late),
            "{time}"
        );
    }
}
