//! State pages: an operator continues from saved pages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value;

use crate::core::error::Error;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::state::page::{Label, PageKind};

use crate::record::tests::operator_batches::{
    DYNAMIC, ENDS, Event, Row, SESSIONS, SLIDING, batch, event, events, operator, rows, spec,
};
use crate::shard::tests::shard_stream::apply;

const UPDATES: &str = r#","grace":15,"emit":"update","every_record":true,"op":true"#;
const CLOSES: &str = r#","grace":15,"late":"emit","op":true"#;

pub(crate) fn pushed(operator: &mut Operator, records: &[Event]) -> Vec<Row> {
    rows(&operator.push(&batch(records)).unwrap())
}

/// The bounds in the label of a page: the first and the last key in hexadecimal, and the first and
/// the last time.
pub(crate) fn bounds(label: &Label) -> (&str, &str, i64, i64) {
    let text = |name| label.text(name).unwrap();
    (
        text("windrow.first_key"),
        text("windrow.last_key"),
        text("windrow.first_time").parse().unwrap(),
        text("windrow.last_time").parse().unwrap(),
    )
}

pub(crate) fn restored(spec: &Spec, pages: &[Vec<u8>]) -> Operator {
    let mut again = operator(spec);
    again
        .restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>())
        .unwrap();
    again
}

pub(crate) fn refusal(spec: &Spec, pages: &[&[u8]]) -> String {
    operator(spec).restore(pages).unwrap_err().to_string()
}

/// An operator of sessions that has seen records, and its pages.
pub(crate) fn saved() -> (Spec, Vec<Vec<u8>>) {
    let spec = spec(SESSIONS, UPDATES);
    let mut operator = operator(&spec);
    pushed(
        &mut operator,
        &[
            event("a", 1, 3),
            event("b", 40, 4),
            event("a", 45, 5),
            event("ab", 47, 6),
        ],
    );
    let pages = operator.pages().unwrap();
    assert!(pages.len() > 1);
    (spec, pages)
}

fn queries() -> impl Strategy<Value = Spec> {
    let kinds = prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING]);
    let inputs = prop::sample::select(vec!["", r#","inputs":{"column":"input","count":2}"#]);
    let emission = prop::sample::select(vec![UPDATES, CLOSES]);
    (kinds, emission, inputs, any::<bool>()).prop_map(|(kind, emission, inputs, ends)| {
        let ends = if ends && kind != SLIDING { ENDS } else { "" };
        spec(kind, &[emission, inputs, ends].concat())
    })
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(128))]

    #[test]
    fn an_operator_continues_from_its_pages(spec in queries(), records in events(60), cuts in prop::collection::vec(0..60_usize, 0..6)) {
        let mut whole = operator(&spec);
        let mut cut = operator(&spec);
        for (nth, record) in records.iter().enumerate() {
            if cuts.contains(&nth) {
                let pages = cut.pages().unwrap();
                cut = restored(&spec, &pages);
                prop_assert_eq!(cut.pages().unwrap(), pages, "a restored operator has the same pages");
                prop_assert_eq!(cut.counters(), whole.counters());
                prop_assert_eq!(cut.windows_open(), whole.windows_open());
                prop_assert_eq!(cut.stream_time(), whole.stream_time());
            }
            prop_assert_eq!(pushed(&mut cut, std::slice::from_ref(record)), pushed(&mut whole, std::slice::from_ref(record)));
        }
        prop_assert_eq!(rows(&cut.finish().unwrap()), rows(&whole.finish().unwrap()));
    }

    #[test]
    fn changed_pages_keep_a_saved_state_true(spec in queries(), records in events(60), cuts in prop::collection::vec(0..60_usize, 1..6)) {
        let mut whole = operator(&spec);
        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (nth, record) in records.iter().enumerate() {
            pushed(&mut whole, std::slice::from_ref(record));
            if !cuts.contains(&nth) {
                continue;
            }
            apply(&mut kept, whole.changed_pages().unwrap());
            let mut again = restored(&spec, &kept.values().cloned().collect::<Vec<_>>());
            let changed = again.changed_pages().unwrap();
            prop_assert_eq!(changed.len(), 1, "nothing but the head differs from what was restored");
            let mut snapshot = whole.pages().unwrap();
            snapshot.sort();
            let mut kept: Vec<Vec<u8>> = kept.values().cloned().collect();
            kept.sort();
            prop_assert_eq!(kept, snapshot, "both ways save the same pages");
        }
    }
}

#[test]
fn a_label_says_what_a_page_holds() {
    let (_, pages) = saved();
    let labels: Vec<Label> = pages
        .iter()
        .map(|page| Label::read(page).unwrap())
        .collect();
    assert_eq!(labels[0].kind, PageKind::Head);
    let mut keys = Vec::new();
    for label in &labels[1..] {
        let (first_key, last_key, first_time, last_time) = bounds(label);
        assert!(
            first_key <= last_key && first_time <= last_time,
            "{:?}: {:?}",
            label.id(),
            bounds(label)
        );
        keys.extend([first_key, last_key]);
    }
    assert!(keys.contains(&"61") && keys.contains(&"62"), "{keys:?}"); // "a" and "b"
}

#[test]
fn a_long_segment_is_cut_into_pages() {
    let spec = spec(SLIDING, UPDATES);
    let mut operator = operator(&spec);
    let records: Vec<Event> = (0..4000)
        .map(|nth| event(["a", "b", "ab"][nth % 3], 1 + nth as i64 / 100, 1))
        .collect();
    pushed(&mut operator, &records);
    let pages = operator.pages().unwrap();
    let longest = pages.iter().map(Vec::len).max().unwrap();
    assert!(
        pages.len() > 3 && longest < 200_000,
        "{} pages, the longest of {longest} bytes",
        pages.len()
    );
    assert_eq!(restored(&spec, &pages).pages().unwrap(), pages);
}

#[test]
fn another_query_is_refused_with_both_queries() {
    let (_, pages) = saved();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let refused = |own: &Spec| -> [Value; 2] {
        let refused = operator(own).restore(&pages);
        let Err(Error::OtherQuery { state, saved, own }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(state, "state");
        [saved, own].map(|text| serde_json::from_str(&text).unwrap())
    };
    let queries = refused(&spec(r#"{"kind":"session","gap":11}"#, UPDATES));
    assert_eq!(
        queries.map(|query| query["windows"]["gap"].clone()),
        [10, 11]
    );
    let until = format!(r#"{UPDATES},"until":60000000"#);
    let queries = refused(&spec(SESSIONS, &until));
    assert_eq!(
        queries.map(|query| query["until"].as_i64()),
        [None, Some(60_000_000)]
    );
}

/// The pages of this version of the format.
fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/version-1/pages")
}

/// Kind of windows, and the records whose state was saved: enough keys that pages have integers in fewer
/// bytes; the reaches of the sessions with one gap are differences from the column before.
fn fixtures() -> [(&'static str, &'static str, Vec<Event>); 3] {
    let mut records = vec![
        event("a", 100, 1),
        event("b", 104, 2),
        Event {
            value: None,
            ..event("a", 107, 0)
        },
        event("ab", 112, -3),
        Event {
            key: None,
            ..event("", 113, 0)
        },
        Event {
            tick: true,
            ..event("", 114, 0)
        },
        event("", 109, 4),
        event("a", 80, 5),
    ];
    let keys = || "c d e f g h i j k l m n o p q r s t u v w x y z".split(' ');
    records.extend(keys().zip(1..).map(|(key, value)| event(key, 113, value)));
    let spread = keys().zip(1..);
    let spread = spread.map(|(key, value)| event(key, 2_000 + 20 * value, value));
    let windows = r#"{"kind":"session","gap":5000}"#;
    [
        ("sessions", windows, spread.collect()),
        ("dynamic", DYNAMIC, records.clone()),
        ("sliding", SLIDING, records),
    ]
}

/// Writes the pages of this version. For a new version, once: call it from the test below, with a new
/// folder in `vectors`.
#[expect(dead_code, reason = "called by hand, once for each version")]
fn write_vectors() {
    for (name, windows, records) in fixtures() {
        let mut operator = operator(&spec(windows, CLOSES));
        pushed(&mut operator, &records);
        let folder = vectors().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (nth, page) in operator.pages().unwrap().iter().enumerate() {
            std::fs::write(folder.join(format!("{nth}.arrows")), page).unwrap();
        }
    }
}

#[test]
fn saved_pages_of_this_version_stay_readable() {
    for (name, windows, records) in fixtures() {
        let files = std::fs::read_dir(vectors().join(name)).unwrap();
        let pages: Vec<Vec<u8>> = files
            .map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .collect();
        assert!(pages.len() > 1, "{name}");
        let has = |text: &[u8]| {
            let mut each = pages.iter().flat_map(|page| page.windows(text.len()));
            each.any(|part| part == text)
        };
        assert!(has(b"windrow.least"), "{name}");
        assert_eq!(has(b"windrow.base"), name == "sessions", "{name}");
        let spec = spec(windows, CLOSES);
        let mut fresh = operator(&spec);
        pushed(&mut fresh, &records);
        let mut again = restored(&spec, &pages);
        assert_eq!(again.counters(), fresh.counters(), "{name}");
        assert_eq!(
            rows(&again.finish().unwrap()),
            rows(&fresh.finish().unwrap()),
            "{name}"
        );
    }
}
