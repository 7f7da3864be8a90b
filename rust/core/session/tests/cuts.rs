//! Sessions that end before their gap does, against the rule taken literally: the records of a key in
//! the order of time, those of one time together, each in the session of those before it or in the
//! next one.
//!
//! ```text
//!   records    0   4   8   12     16         gap 5, none longer than 10
//!   sessions   [0,8] [12,16]                 12 is more than 10 after 0
//!   12 ends    [0,8] [12,12] [16,16]
//! ```

use std::collections::BTreeMap;

use crate::core::aggregate::slot::Slot;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::change::{Emit, WindowChange};
use crate::core::operator::record::Record;
use crate::core::session::batch::OpenSessions;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Cut, Gap, SessionWindows};
use crate::core::time::{Span, Time};
use proptest::prelude::*;

use crate::core::aggregate::tests::trial::Random;
use crate::core::session::tests::sessions::{Event, record};
use crate::core::tests::window_members::Members;

/// A record: key, time, own gap, and whether its session ends with it.
pub(crate) type CutRecord = (u8, i64, i64, bool);
/// Key, start and end of each session, and the number of records in it.
pub(crate) type CutSessions = BTreeMap<(u8, i64, i64), usize>;

/// The rule on unbounded integers.
pub(crate) fn oracle_cuts(records: &[CutRecord], longest: Option<i64>) -> CutSessions {
    let mut of_time: BTreeMap<(u8, i64), Vec<(i64, bool)>> = BTreeMap::new();
    for &(key, time, gap, ends) in records {
        of_time.entry((key, time)).or_default().push((gap, ends));
    }
    let mut found = CutSessions::new();
    // The session so far: its key, start, end, number of records, reach, and whether it has ended.
    let mut open: Option<(u8, i64, i64, usize, i128, bool)> = None;
    for ((key, time), together) in of_time {
        let goes_on = open.is_some_and(|(of, start, _, _, reach, has_ended)| {
            let length = i128::from(time) - i128::from(start);
            of == key
                && !has_ended
                && i128::from(time) <= reach
                && longest.is_none_or(|longest| length <= i128::from(longest))
        });
        if !goes_on && let Some((key, start, end, count, ..)) = open.take() {
            found.insert((key, start, end), count);
        }
        let farthest = together
            .iter()
            .map(|&(gap, _)| i128::from(time) + i128::from(gap))
            .max();
        let (start, count, reach) =
            open.map_or((time, 0, i128::MIN), |open| (open.1, open.3, open.4));
        let has_ended = together.iter().any(|&(_, ends)| ends);
        let reach = farthest.map_or(reach, |farthest| reach.max(farthest));
        open = Some((key, start, time, count + together.len(), reach, has_ended));
    }
    if let Some((key, start, end, count, ..)) = open {
        found.insert((key, start, end), count);
    }
    found
}

fn cut(longest: Option<i64>) -> Cut {
    Cut {
        longest: longest.map(|longest| Span(longest as u64)),
    }
}

/// All sessions at once, in calls that each have the records before a time that are left.
fn at_once(records: &[CutRecord], longest: Option<i64>, frontiers: &[i64]) -> CutSessions {
    let mut sessions = OpenSessions::default();
    let mut frontiers: Vec<i64> = frontiers.to_vec();
    frontiers.sort();
    let mut rest: Vec<CutRecord> = records.to_vec();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for frontier in frontiers.into_iter().map(Some).chain([None]) {
        let (call, later) = rest
            .into_iter()
            .partition(|&(_, time, ..)| frontier.is_none_or(|frontier| time < frontier));
        rest = later;
        let keys: Vec<KeyId> = call.iter().map(|&(key, ..)| KeyId(key.into())).collect();
        let times: Vec<Time> = call.iter().map(|&(_, time, ..)| Time(time)).collect();
        let gap = |row: usize| match call[row] {
            (.., true) => Span(0),
            (.., gap, false) => Span(gap as u64),
        };
        let slots = sessions.assign_cut(&keys, &times, gap, cut(longest), &Interrupt::never());
        for Slot(slot) in slots.unwrap() {
            *counts.entry(slot).or_default() += 1;
        }
    }
    let whole = sessions.coalesce(&Interrupt::never()).unwrap();
    assert!(whole.moves.is_none(), "nothing has to be joined");
    let sessions = whole.keys.iter().zip(&whole.extents).zip(0..);
    sessions
        .map(|((key, extent), slot)| ((key.0 as u8, extent.start.0, extent.end.0), counts[&slot]))
        .collect()
}

fn rule(longest: Option<i64>) -> SessionWindows {
    SessionWindows {
        gap: Gap::Dynamic { longest: None },
        cut: Some(cut(longest)),
        segment: Some(Span(64)),
        ..SessionWindows::with_gap(Span(1), Some(Span(0)))
    }
}

/// Record by record, in the order of time.
fn one_by_one(records: &[CutRecord], longest: Option<i64>) -> CutSessions {
    let mut sessions = SessionOperator::new(rule(longest), 1).unwrap();
    let (mut states, mut found) = (Members::default(), CutSessions::new());
    let mut out = |name: &[u8], change: WindowChange, states: &mut Members| {
        let slot = change.slot.unwrap();
        let window = change.window;
        let count = states.of(slot).len();
        let before = found.insert((name[0], window.start.0, window.end.0), count);
        assert_eq!(before, None, "a session came twice");
        Ok(())
    };
    let mut sorted: Vec<&CutRecord> = records.iter().collect();
    sorted.sort_by_key(|(_, time, ..)| time);
    for (number, &&(key, time, gap, ends)) in sorted.iter().enumerate() {
        let event: Event = (key, time, gap);
        let record = Record {
            ends,
            ..record(number, &event)
        };
        sessions.push(record, &mut states, &mut out).unwrap();
    }
    sessions.finish(&mut states, &mut out).unwrap();
    found
}

fn check(records: &[CutRecord], longest: Option<i64>, expected: &[(i64, i64)]) {
    let bounds: Vec<(i64, i64)> = oracle_cuts(records, longest)
        .keys()
        .map(|&(_, start, end)| (start, end))
        .collect();
    assert_eq!(bounds, expected, "the oracle");
    assert_eq!(
        at_once(records, longest, &[]),
        oracle_cuts(records, longest)
    );
    assert_eq!(one_by_one(records, longest), oracle_cuts(records, longest));
}

/// Records of one key and one gap that end no session.
fn every(times: &[i64], gap: i64) -> Vec<CutRecord> {
    times.iter().map(|&time| (1, time, gap, false)).collect()
}

#[test]
fn a_session_is_exactly_as_long_as_it_may_be() {
    check(&every(&[0, 5, 9], 5), Some(10), &[(0, 9)]);
    check(&every(&[0, 5, 10], 5), Some(10), &[(0, 10)]);
    check(&every(&[0, 5, 10, 11], 6), Some(10), &[(0, 10), (11, 11)]);
    check(&every(&[0, 6, 11, 16], 6), Some(10), &[(0, 6), (11, 16)]);
}

#[test]
fn a_session_shorter_than_its_gap_is_cut_all_the_same() {
    check(&every(&[0, 1, 2, 3], 100), Some(1), &[(0, 1), (2, 3)]);
    check(&every(&[0, 2, 2, 3], 100), Some(1), &[(0, 0), (2, 3)]);
}

#[test]
fn a_session_ends_after_all_records_of_the_time_at_which_one_ends_it() {
    let mut records = every(&[0, 3, 3, 3, 4], 9);
    for row in 1..4 {
        records[row].3 = true;
        check(&records, None, &[(0, 3), (4, 4)]);
        records[row].3 = false;
    }
    check(&records, None, &[(0, 4)]);
}

#[test]
fn a_record_that_ends_its_session_holds_back_none_behind_it() {
    let records = [
        (1, 0, 100, true),
        (1, 10, 1, false),
        (1, 11, 1, false),
        (1, 20, 1, false),
    ];
    check(&records, None, &[(0, 0), (10, 11), (20, 20)]);
}

#[test]
fn the_earliest_and_the_latest_time_are_cut_like_others() {
    let (first, last) = (i64::MIN, i64::MAX);
    check(
        &every(&[first, first + 2, first + 3], 2),
        Some(2),
        &[(first, first + 2), (first + 3, first + 3)],
    );
    check(
        &every(&[last - 3, last - 1, last], 2),
        Some(2),
        &[(last - 3, last - 1), (last, last)],
    );
    check(
        &every(&[first, 0, last], last),
        Some(last),
        &[(first, first), (0, last)],
    );
    check(&every(&[last, last], last), Some(last), &[(last, last)]);
}

#[test]
fn sessions_that_wait_for_late_records_are_not_cut() {
    for windows in [
        SessionWindows {
            grace: Some(Span(1)),
            ..rule(None)
        },
        SessionWindows {
            grace: None,
            ..rule(Some(3))
        },
        SessionWindows {
            until: Some(Span(u64::MAX)),
            ..rule(Some(3))
        },
    ] {
        assert_eq!(windows.emit, Emit::Close);
        let refused = SessionOperator::new(windows, 1).unwrap_err();
        assert!(
            matches!(&refused, Error::Argument { argument, .. } if argument == "max_duration, end_when"),
            "{refused}"
        );
    }
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![12 => -15..25_i64, 1 => i64::MIN..i64::MIN + 6, 1 => i64::MAX - 6..=i64::MAX]
}

fn records() -> impl Strategy<Value = Vec<CutRecord>> {
    let gap = prop_oneof![8 => 1..6_i64, 2 => 6..40_i64, 1 => Just(i64::MAX)];
    let row = (0..3_u8, time(), gap, prop::bool::weighted(0.2));
    prop::collection::vec(row, 0..60)
}

fn longest() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![2 => Just(None), 6 => (1..12_i64).prop_map(Some), 1 => Just(Some(i64::MAX))]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_any_order_and_any_frontier_gives_the_sessions_of_the_rule(
        mut records in records(), longest in longest(),
        frontiers in prop::collection::vec(-15..25_i64, 0..4), seed: u64,
    ) {
        let expected = oracle_cuts(&records, longest);
        prop_assert_eq!(at_once(&records, longest, &frontiers), expected.clone());
        Random(seed).shuffle(&mut records);
        prop_assert_eq!(at_once(&records, longest, &frontiers), expected);
    }

    #[test]
    fn oracle_record_by_record_gives_the_same_sessions(records in records(), longest in longest()) {
        prop_assert_eq!(one_by_one(&records, longest), oracle_cuts(&records, longest));
    }
}
