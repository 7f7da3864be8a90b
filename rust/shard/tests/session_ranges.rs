//! Sessions in update mode whose runs have ranges of keys: a micro-batch reads and writes those of its
//! keys and those in which something closes, and gives the rows of the record operator.

use std::sync::LazyLock;

use crate::core::operator::change::Emit;
use crate::plan::limits::Limits;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{DYNAMIC, Event, SESSIONS, event};
use crate::record::tests::touched_runs::MANY;
use crate::shard::tests::shard_stream::{Pages, Stream, restarts, small};

/// Keys with equal beginnings, some longer than a range compares, and the empty key.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let beginnings = [
        "",
        "user-",
        &"p".repeat(255),
        &"q".repeat(256),
        &"r".repeat(400),
    ];
    let keys = beginnings.iter().flat_map(|beginning| {
        (0..16).map(move |number| match number {
            0 => (*beginning).to_owned(),
            _ => format!("{beginning}{number:02}"),
        })
    });
    keys.map(|key| &*key.leak()).collect()
});

/// The pages that two states differ in, without the head.
fn written(before: &Pages, after: &Pages) -> usize {
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    let differ = names.filter(|name| before.get(*name) != after.get(*name));
    differ.filter(|name| *name != "head").count()
}

fn updates(windows: &str, limits: Limits) -> Stream {
    Stream::emitting(Emit::Update, windows, limits, 0)
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(24))]

    #[test]
    fn differential_many_keys_change_as_those_of_the_operator(
        records in prop::collection::vec((0..80_usize, 0..40_i64, 1..30_i64), 1..300),
        cuts in prop::collection::vec((1..40_usize, prop::bool::weighted(0.05), restarts()), 1..60),
        pace in 1..8_i64,
        every in prop::option::of(1..60_i64),
        dynamic in any::<bool>(),
        page_bytes in prop_oneof![Just(1_usize), 200..3_000_usize],
    ) {
        let limits = Limits { page_bytes, ..small() };
        let mut stream = updates(if dynamic { DYNAMIC } else { SESSIONS }, limits).paced(every);
        let records = (0..).zip(records).map(|(nth, (key, back, gap))| Event {
            gap: Some(gap),
            ..event(KEYS[key], nth * pace / 8 - back / 2, 1)
        });
        let records: Vec<Event> = records.collect();
        stream.follow(&records, cuts)?;
    }
}

/// Runs of some fifty sessions.
fn fifty() -> Limits {
    Limits {
        page_bytes: 4 << 10,
        ..Limits::default()
    }
}

/// An open session of each short key at the same time.
fn filled() -> (Stream, usize) {
    let mut stream = updates(SESSIONS, fifty());
    let rows: Vec<Event> = MANY.iter().map(|key| event(key, 100, 1)).collect();
    stream.push(&rows, false);
    let pages = stream.pages.len() - 1;
    assert!(pages > 6, "{pages} pages");
    (stream, pages)
}

#[test]
fn a_record_reads_and_writes_the_run_of_its_key() {
    for key in ["user-000", "user-001", "user-150", "user-599"] {
        let (mut stream, pages) = filled();
        let before = stream.pages.clone();
        let (wanted, found) = stream.push(&[event(key, 101, 1)], false);
        assert_eq!((wanted.len(), wanted), (2, found), "a delete and an upsert");
        assert_eq!(stream.needed.len(), 1, "of {pages}");
        assert_eq!(written(&before, &stream.pages), 1, "of {pages}");
        let (wanted, found) = stream.open();
        assert_eq!(wanted, found);
    }
}

#[test]
fn a_key_between_two_others_reads_the_run_that_gets_it() {
    let (mut stream, _) = filled();
    for key in ["", "!", "user-0215", "user-", "user-599!", "zz"] {
        let before = stream.pages.clone();
        stream.push(&[event(key, 101, 1)], false);
        assert_eq!(stream.needed.len(), 1, "{key}");
        assert!(
            written(&before, &stream.pages) <= 3,
            "one, or the two that it becomes: {key}"
        );
        let (wanted, found) = stream.open();
        assert_eq!(wanted, found);
    }
}

#[test]
fn all_keys_read_and_divide_all_runs() {
    let (mut stream, pages) = filled();
    let rows: Vec<Event> = MANY.iter().map(|key| event(key, 101, 1)).collect();
    stream.push(&rows, false);
    assert_eq!(stream.needed.len(), pages);
    assert_eq!(stream.pages.len(), pages + 1);
}

#[test]
fn a_micro_batch_reads_the_runs_in_which_something_closes() {
    let mut stream = updates(SESSIONS, fifty());
    let times = MANY.iter().zip(0..);
    let rows: Vec<Event> = times.map(|(key, nth)| event(key, nth / 50, 1)).collect();
    stream.push(&rows, false);
    let pages = stream.pages.len() - 1;
    // Grace 15 and gap 10: at 25 nothing is due, at 26 the sessions of time 0 are.
    stream.push(&[event("zz", 25, 1)], false);
    let of_key = stream.needed.len();
    assert!(of_key < 7, "one of each segment, {of_key} of {pages}");
    let before = stream.pages.clone();
    stream.push(&[event("zz", 26, 1)], false);
    let (needed, written) = (stream.needed.len(), written(&before, &stream.pages));
    let due = needed - of_key;
    assert!((1..3).contains(&due), "fifty sessions, {due} of {pages}");
    assert_eq!(written, due + 1, "those, and that of the key");
    // A micro-batch of nothing but a later time closes all of them, and leaves no page.
    stream.push(&[event("zz", 1_000, 1)], false);
    assert_eq!(stream.pages.len(), 2);
}

#[test]
fn a_run_that_is_only_read_knows_when_its_other_sessions_close() {
    // Grace 15 and gap 10: the first session closes at 126, the others at 138. All are kept.
    let mut stream = updates(SESSIONS, fifty()).keeping(1_000);
    let time = |nth| if nth == 0 { 100 } else { 112 };
    let rows: Vec<Event> = MANY
        .iter()
        .zip(0..)
        .map(|(key, nth)| event(key, time(nth), 1))
        .collect();
    stream.push(&rows, false);
    for time in [125, 126, 137, 138] {
        // This checks how many sessions are open, and how many have closed.
        let before = stream.pages.clone();
        let (wanted, found) = stream.push(&[event("zz", time, 1)], false);
        assert_eq!(wanted, found);
        assert_eq!(
            written(&before, &stream.pages),
            1,
            "the run of the key at {time}"
        );
    }
}

#[test]
fn keys_that_begin_alike_for_long_are_one_run() {
    let mut stream = updates(SESSIONS, small());
    let long: Vec<Event> = KEYS
        .iter()
        .filter(|key| key.len() > 300)
        .map(|key| event(key, 100, 1))
        .collect();
    stream.push(&long, false);
    let pages = stream.pages.len() - 1;
    assert!(pages > 4, "{pages}");
    stream.push(&long[..1], false);
    assert_eq!(stream.needed.len(), pages, "no beginning tells them apart");
}
