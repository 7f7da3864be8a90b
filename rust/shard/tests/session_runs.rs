//! The sessions of a shard as runs, in close and update mode: in each micro-batch the same rows and
//! counters as the record operator, which looks all sessions up, and a state that either of them
//! can continue.

use std::sync::Arc;

use crate::batch::packer::Packer;
use crate::core::error::Error;
use crate::core::operator::change::Emit;
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::record::operator::Operator;
use crate::shard::shard_sessions::ShardSessions;
use crate::state::source_time::SourceTime;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    DYNAMIC, Event, SESSIONS, batch, event, events, schema, spec_of,
};
use crate::shard::tests::shard_stream::{AGGREGATES, Stream, joined, packed, restarts, small};

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(64))]

    #[test]
    fn differential_runs_give_the_rows_of_the_operator_in_each_micro_batch(
        records in events(150),
        cuts in prop::collection::vec((1..12_usize, prop::bool::weighted(0.08), restarts()), 1..80),
        until in prop::option::of(50..90_i64),
        emit in prop_oneof![Just(Emit::Close), Just(Emit::Update)],
        every in prop::option::of(1..60_i64),
        dynamic in any::<bool>(),
        small in any::<bool>(),
        (takes_records, has_ends) in any::<(bool, bool)>(),
        shard in 0..4_u32,
    ) {
        let limits = if small { self::small() } else { Limits::default() };
        let windows = if dynamic { DYNAMIC } else { SESSIONS };
        let mut stream = Stream::emitting(emit, windows, limits, shard).with_ends(has_ends);
        if let Some(until) = until {
            stream = stream.keeping(until);
        }
        stream = stream.paced(every).taking_records(takes_records);
        stream.follow(&records, cuts)?;
    }
}

#[test]
fn a_micro_batch_reads_what_it_opens_and_no_more() {
    let mut stream = Stream::new(SESSIONS, small(), 0);
    let keys = ["a", "ab", "b", ""];
    let rows: Vec<Event> = (0..400)
        .map(|nth| event(keys[nth % 4], nth as i64, 1))
        .collect();
    let (mut read, mut stored) = (0, 0);
    for rows in rows.chunks(3) {
        let blocks = joined(&packed(&stream.counted, rows, 0, small()));
        let latest = rows.iter().filter_map(|row| row.time).max().unwrap();
        let names = stream.sessions().push(
            &blocks,
            &[SourceTime {
                input: 0,
                source: Source(0),
                time: Time(latest),
            }],
        );
        read += names.unwrap().len();
        stored += stream.pages.len();
        stream.push(rows, false);
        assert!(
            stream.pages.len() < 60,
            "runs are compacted, closed ones removed"
        );
    }
    assert!(read > 100 && stored > 2 * read, "{read} of {stored} pages");
}

#[test]
fn records_are_taken_in_any_order_if_none_is_behind_the_close_time() {
    // close time 100 - 15 = 85
    let mut stream = Stream::new(SESSIONS, small(), 0);
    stream.push(&[event("a", 100, 1)], false);
    let progress = [SourceTime {
        input: 0,
        source: Source(0),
        time: Time(110),
    }];
    let query = Query::of_rows(&stream.spec, &schema()).unwrap();
    let query = Arc::new(query);
    for (time, is_taken) in [(84, false), (85, true), (86, true)] {
        let mut packer = Packer::new(Arc::clone(&query), 0).unwrap();
        let rows = [event("a", 110, 1), event("b", time, 1)];
        let mut blocks = packer.push(&batch(&rows)).unwrap();
        blocks.extend(packer.finish().unwrap());
        let mut sessions = stream.sessions();
        let taken = sessions.push_records_in_time(&joined(&blocks), &progress);
        assert_eq!(taken.unwrap().is_some(), is_taken, "{time}");
        let again = sessions.push_records(&batch(&rows), &progress);
        assert_eq!(again.is_err(), is_taken, "it waits for its pages");
    }
}

#[test]
fn other_pages_than_those_that_are_needed_are_refused() {
    for emit in [Emit::Close, Emit::Update] {
        refuses_other_pages(Stream::emitting(emit, SESSIONS, small(), 0));
    }
}

fn refuses_other_pages(mut stream: Stream) {
    stream.push(
        &[event("a", 0, 1), event("b", 0, 1), event("ab", 1, 1)],
        false,
    );
    let blocks = joined(&packed(&stream.counted, &[event("a", 200, 1)], 0, small()));
    let progress = [SourceTime {
        input: 0,
        source: Source(0),
        time: Time(200),
    }];
    let refused = |pages: &[&[u8]]| {
        let mut sessions = stream.sessions();
        sessions.push(&blocks, &progress).unwrap();
        matches!(
            sessions.finish(pages),
            Err(Error::Format { what: "page", .. })
        )
    };
    let names = stream.sessions().push(&blocks, &progress).unwrap();
    assert!(!names.is_empty());
    let needed: Vec<&[u8]> = names
        .iter()
        .map(|name| stream.pages[name].as_slice())
        .collect();
    assert!(!refused(&needed));
    assert!(refused(&[]));
    assert!(refused(&needed[1..]));
    assert!(refused(&[&needed[..], &needed[..1]].concat()));
    let cut: Vec<&[u8]> = needed.iter().map(|page| &page[..page.len() - 9]).collect();
    assert!(refused(&cut));
    let mut sessions = stream.sessions();
    assert!(matches!(
        sessions.finish(&needed),
        Err(Error::Format {
            what: "micro-batch",
            ..
        })
    ));
    sessions.push(&blocks, &progress).unwrap();
    assert!(matches!(
        sessions.push(&blocks, &progress),
        Err(Error::Format { .. })
    ));
}

#[test]
fn a_micro_batch_of_updates_writes_the_segments_that_change_and_no_others() {
    let mut stream = Stream::emitting(Emit::Update, SESSIONS, Limits::default(), 0);
    stream.push(&[event("a", 0, 1), event("b", 24, 1)], false);
    stream.push(&[event("a", 2, 1)], false);
    let before = stream.pages.clone();
    assert_eq!(before.len(), 3, "a head, and a page of each segment");
    let (_, changed) = stream.push(&[event("b", 26, 1)], false);
    assert_eq!(changed.len(), 2, "a delete and an upsert: {changed:?}");
    let written = |name: &&String| before.get(*name) != stream.pages.get(*name);
    assert_eq!(
        stream.pages.keys().filter(written).count(),
        2,
        "the head and one"
    );
    // A micro-batch that closes a session removes its page.
    let (_, changed) = stream.push(&[event("b", 30, 1)], false);
    assert_eq!((changed.len(), stream.pages.len()), (2, 2));
}

#[test]
fn only_sessions_that_need_no_records_come_as_partial_ones() {
    let refused = |windows: &str, more: &str| {
        let spec = spec_of(windows, AGGREGATES, more);
        ShardSessions::new(&spec, &schema(), 0).is_err()
    };
    for emit in ["", r#","emit":"update""#] {
        let more = format!(r#","grace":15{emit}"#);
        assert!(!refused(SESSIONS, &more));
        assert!(!refused(SESSIONS, &format!(r#"{more},"until":100"#)));
        assert!(refused(
            crate::record::tests::operator_batches::SLIDING,
            &more
        ));
        for other in [r#""late":"emit""#, r#""every_record":true"#] {
            assert!(refused(SESSIONS, &format!("{more},{other}")), "{other}");
        }
    }
}

#[test]
fn a_part_of_a_state_is_only_looked_at() {
    let mut stream = Stream::new(SESSIONS, small(), 0);
    stream.push(
        &[event("a", 0, 1), event("b", 0, 1), event("ab", 100, 1)],
        false,
    );
    let mut operator = Operator::new(&stream.spec, &schema(), Vec::new()).unwrap();
    operator.restore_part(&[&stream.pages["head"]]).unwrap();
    assert!(operator.pages().is_err());
    assert!(operator.changed_pages().is_err());
    assert!(operator.push(&batch(&[event("a", 300, 1)])).is_err());
    assert!(operator.restore(&[&stream.pages["head"]]).is_err());
    assert_eq!(operator.stream_time(), Some(Time(100)));
}
