//! Micro-batches of records that have ends, against brute force, with restarts from pages and from
//! tables of open windows.

use proptest::prelude::*;

use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::spec::Spec;
use crate::record::open::clock::OpenTally;
use crate::record::operator::Operator;
use crate::record::tests::open_damage::apart;
use crate::record::tests::operator_batches::{
    DYNAMIC, ENDS, Event, SESSIONS, batch, event, events, operator, rows, spec,
};
use crate::state::source_time::SourceTime;

/// Key, start, end, and the number of records.
type Final = (String, i64, i64, usize);

/// A record with its reach.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    key: &'static str,
    time: i64,
    end: i64,
    reach: i64,
}

/// A session: its records.
type Set = Vec<Lasting>;

fn start(set: &Set) -> i64 {
    set.iter().map(|own| own.time).min().unwrap()
}

fn end(set: &Set) -> i64 {
    set.iter().map(|own| own.end).max().unwrap()
}

fn reach(set: &Set) -> i64 {
    set.iter().map(|own| own.reach).max().unwrap()
}

fn join(one: &Set, other: &Set) -> bool {
    let is_of_key = one[0].key == other[0].key;
    is_of_key && start(one) <= reach(other) && start(other) <= reach(one)
}

/// Rules 1.2 by joining until nothing changes.
#[derive(Debug, Default)]
struct Model {
    open: Vec<Set>,
    time: Option<i64>,
    late: u64,
    behind: u64,
}

impl Model {
    /// A micro-batch after which stream time is `to` at least. Returns the sessions that close.
    fn push(&mut self, records: &[Lasting], grace: i64, to: i64) -> Vec<Final> {
        let close = self.time.map_or(i64::MIN, |time| time - grace);
        let stored = self.open.len();
        let mut groups = std::mem::take(&mut self.open);
        // The first record of a group is a stored one if the group has any.
        groups.extend(records.iter().map(|&own| vec![own]));
        let of_stored: Vec<Set> = groups[..stored].to_vec();
        let mut whole: Vec<Set> = Vec::new();
        for group in groups {
            let (joined, others) = whole.into_iter().partition(|set| join(set, &group));
            whole = others;
            let mut merged: Set = joined.into_iter().flatten().collect();
            merged.extend(group);
            // The group may reach others now.
            loop {
                let (more, others): (Vec<Set>, Vec<Set>) =
                    whole.into_iter().partition(|set| join(set, &merged));
                whole = others;
                if more.is_empty() {
                    break;
                }
                merged.extend(more.into_iter().flatten());
            }
            whole.push(merged);
        }
        let (late, in_time): (Vec<Set>, Vec<Set>) =
            whole.into_iter().partition(|set| reach(set) < close);
        assert!(
            late.iter().flatten().all(|own| own.time < close)
                && of_stored.iter().all(|set| reach(set) >= close),
            "stored sessions are open"
        );
        let late = late.iter().flatten().count() as u64;
        let before = records.iter().filter(|own| own.time < close).count() as u64;
        self.late += late;
        self.behind += before - late;
        self.time = self.time.max(Some(to));
        let close = self.time.map_or(i64::MIN, |time| time - grace);
        let (closed, open): (Vec<Set>, Vec<Set>) =
            in_time.into_iter().partition(|set| reach(set) < close);
        self.open = open;
        let shown = |set: &Set| (set[0].key.to_owned(), start(set), end(set), set.len());
        let mut finals: Vec<Final> = closed.iter().map(shown).collect();
        finals.sort();
        finals
    }
}

fn lasting(row: &Event, gap: Option<i64>) -> Option<Lasting> {
    let (key, time) = (row.key?, row.time?);
    let gap = gap
        .or(row.gap.map(|gap| gap.min(20)))
        .filter(|&gap| gap >= 0)?;
    let end = row.end().filter(|&end| end >= time)?;
    Some(Lasting {
        key,
        time,
        end,
        reach: end + gap,
    })
}

/// The same operator, another one that has its pages, or one that has its table of open windows.
fn restarted(own: Operator, spec: &Spec, way: u8, to: i64, nth: u64) -> Operator {
    let mut own = own;
    let mut again = operator(spec);
    match way {
        1 => {
            let pages = own.pages().unwrap();
            let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
            again.restore(&pages).unwrap();
        }
        2 if own.stream_time().is_some() => {
            let (rows, clock) = own.open_windows(Some(Time(to)), nth, &[]).unwrap();
            let rows: Vec<_> = rows.iter().flat_map(apart).collect();
            let tally = OpenTally {
                clocks: Vec::new(),
                rows: clock.rows,
                checksum: clock.checksum,
            };
            again
                .resume_open(&clock, Some(to), &tally, &rows, false)
                .unwrap();
        }
        _ => return own,
    }
    again
}

fn at(time: i64) -> [SourceTime; 1] {
    [SourceTime {
        input: 0,
        source: Source(0),
        time: Time(time),
    }]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(128))]

    #[test]
    fn oracle_micro_batches_and_restarts_give_the_sessions_of_the_rules(
        records in events(120),
        cuts in prop::collection::vec((0..15_usize, 0..3_u8, 0..40_i64), 1..40),
        gap in prop::option::of(prop_oneof![Just(0_i64), Just(10)]),
        grace in prop::sample::select(vec![0, 15, 60]),
    ) {
        let windows = gap.map_or(DYNAMIC.to_owned(), |gap| format!(r#"{{"kind":"session","gap":{gap}}}"#));
        let spec = spec(&windows, &format!(r#","grace":{grace}{ENDS}"#));
        let (mut own, mut model, mut rest) = (operator(&spec), Model::default(), records.as_slice());
        for (nth, (size, way, later)) in (0..).zip(cuts.into_iter().cycle().take(60)) {
            let (some, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            let some: Vec<Event> = some.iter().filter(|row| !row.tick).cloned().collect();
            let calls: Vec<Lasting> = some.iter().filter_map(|row| lasting(row, gap)).collect();
            let latest = calls.iter().map(|call| call.time).max();
            let Some(to) = latest.max(model.time).map(|to| to + later / 20 * later) else { continue };
            let (before, counted) = (own.counters(), (model.late, model.behind));
            let finals = own.push_micro_batch(&batch(&some), None, &at(to)).unwrap();
            let mut found: Vec<Final> = rows(&finals)
                .into_iter()
                .map(|row| (row.0, row.1, row.2, row.3.split(' ').next().unwrap().parse().unwrap()))
                .collect();
            found.sort();
            prop_assert_eq!(found, model.push(&calls, grace, to));
            let counters = own.counters();
            prop_assert_eq!(
                (counters.late - before.late, counters.behind - before.behind),
                (model.late - counted.0, model.behind - counted.1)
            );
            prop_assert_eq!(own.windows_open(), model.open.len() as u64);
            own = restarted(own, &spec, way, to, nth);
        }
    }
}

/// The windows of an operator that has seen a record and continues as another query.
fn continued(before: &Spec, after: &Spec, records: [&[Event]; 2]) -> Vec<(i64, i64)> {
    let mut first = operator(before);
    first
        .push_micro_batch(&batch(records[0]), None, &at(20))
        .unwrap();
    let (rows_of, clock) = first.open_windows(Some(Time(20)), 1, &[]).unwrap();
    let parts: Vec<_> = rows_of.iter().flat_map(apart).collect();
    let tally = OpenTally {
        clocks: Vec::new(),
        rows: clock.rows,
        checksum: clock.checksum,
    };
    let mut next = operator(after);
    next.resume_open(&clock, Some(20), &tally, &parts, false)
        .unwrap();
    let finals = next
        .push_micro_batch(&batch(records[1]), None, &at(500))
        .unwrap();
    let found = rows(&finals).into_iter().map(|row| (row.1, row.2));
    found.collect()
}

#[test]
fn a_query_with_ends_continues_one_without_and_the_other_way_round() {
    let plain = spec(SESSIONS, r#","grace":0"#);
    let ends = spec(SESSIONS, &format!(r#","grace":0{ENDS}"#));
    let call = event("a", 20, 1);
    let stop = call.end().unwrap();
    assert_eq!(stop, 20 + 140 % 41 - 3);
    let later = event("a", stop + 10, 1);
    // With its end, the record of 20 reaches the later one. Without, it does not.
    let (first, second) = ([call], [later.clone()]);
    let found = continued(&ends, &plain, [&first, &second]);
    assert_eq!(found, [(20, stop + 10)]);
    let found = continued(&plain, &ends, [&first, &second]);
    assert_eq!(found, [(20, 20), (stop + 10, later.end().unwrap())]);
}

#[test]
fn the_first_fault_of_a_record_counts_and_none_moves_stream_time() {
    let call = event("a", 20, 1);
    let record = |key, time, gap| Event {
        key,
        time,
        gap,
        ..call.clone()
    };
    let (own, no_end, early_end) = (Some("a"), Some(13_000), Some(4_100));
    let rows = [
        record(own, Some(20), Some(0)),
        record(own, Some(21), Some(21)), // cut to 20
        record(None, None, None),
        record(own, None, None),
        record(own, no_end, None),
        record(own, early_end, Some(-1)),
        record(own, no_end, Some(0)),
        record(own, early_end, Some(5)),
        Event {
            tick: true,
            ..record(None, None, None)
        },
    ];
    assert!(!record(own, early_end, None).ends_well() && !record(own, no_end, None).ends_well());
    let expected = Counters {
        records: 2,
        clamped_gaps: 1,
        null_keys: 1,
        null_times: 1,
        bad_gaps: 2,
        bad_ends: 2,
        bad_ticks: 1,
        ..Counters::default()
    };
    let spec = spec(DYNAMIC, &format!(r#","grace":0{ENDS}"#));
    let (mut driven, mut stream) = (operator(&spec), operator(&spec));
    driven.push(&batch(&rows)).unwrap();
    stream
        .push_micro_batch(&batch(&rows), None, &at(21))
        .unwrap();
    for own in [driven, stream] {
        let counters = own.counters();
        assert_eq!((counters, own.stream_time()), (expected, Some(Time(21))));
    }
}
