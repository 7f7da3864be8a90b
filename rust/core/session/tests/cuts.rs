//! Sessions that rules end, against the oracle of `cut_oracle`: at once, and record by record.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::tests::trial::Random;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::change::{Emit, Late, WindowChange};
use crate::core::operator::record::{Record, RecordOutcome, RecordRule};
use crate::core::operator::session_end::EndedBy;
use crate::core::session::cut_operator::{CutOperator, CutWindows};
use crate::core::session::cut_sessions::CutSessions;
use crate::core::session::session_windows::Gap;
use crate::core::session::tests::cut_oracle::{
    CutRecord, Rules, Session, oracle_cuts, plain, record, rules,
};
use crate::core::tests::window_members::Members;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

fn rule_of(record: &CutRecord) -> RecordRule {
    RecordRule {
        tie: record.tie,
        mark: RecordRule::mark(record.begins, record.value << 1),
        ends: record.ends,
    }
}

fn extent_of(record: &CutRecord) -> Extent {
    let (time, end) = (Time(record.time), Time(record.end()));
    Extent::lasting(time, end, Span(record.gap as u64))
}

/// All sessions at once, in calls that each have the records before a time that are left.
fn at_once(records: &[CutRecord], rules: Rules, frontiers: &[i64]) -> Vec<Session> {
    let mut sessions = CutSessions::default();
    let mut frontiers: Vec<i64> = frontiers.to_vec();
    frontiers.sort();
    let mut rest: Vec<usize> = (0..records.len()).collect();
    let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for frontier in frontiers.into_iter().map(Some).chain([None]) {
        let (call, later): (Vec<usize>, Vec<usize>) = rest
            .into_iter()
            .partition(|&row| frontier.is_none_or(|frontier| records[row].time < frontier));
        rest = later;
        let keys: Vec<KeyId> = call
            .iter()
            .map(|&row| KeyId(records[row].key.into()))
            .collect();
        let times: Vec<Time> = call.iter().map(|&row| Time(records[row].time)).collect();
        let extent = |nth: usize, _| extent_of(&records[call[nth]]);
        let rule = |nth: usize| rule_of(&records[call[nth]]);
        let rows = (keys.as_slice(), times.as_slice());
        let slots = sessions.assign(rows, extent, rule, &rules.cut(), &Interrupt::never());
        for (Slot(slot), &row) in slots.unwrap().into_iter().zip(&call) {
            members.entry(slot).or_default().push(row);
        }
    }
    let mut found: Vec<Session> = (0..sessions.len() as u32)
        .map(|slot| {
            let (session, mut members) = (sessions.sessions[Slot(slot)], members[&slot].clone());
            members.sort();
            let end = sessions.ended[Slot(slot)].or_else(|| rules.cut().own_end(&session));
            let key = sessions.keys[slot as usize].0 as u8;
            let end = end.unwrap_or(EndedBy::Open);
            (
                key,
                session.start.0,
                session.end.0,
                members,
                session.ordinal,
                end,
            )
        })
        .collect();
    found.sort();
    found
}

fn windows(rules: Rules, grace: u64, keeps_last: bool) -> CutWindows {
    CutWindows {
        gap: Gap::Dynamic {
            longest: None,
            takes_zero: true,
        },
        cut: rules.cut(),
        grace: Some(Span(grace)),
        emit: Emit::Close,
        late: Late::Drop,
        keeps_last,
        segment: Some(Span(64)),
    }
}

/// Record by record. Also returns which records are late.
fn one_by_one(
    windows: CutWindows,
    records: &[CutRecord],
    order: impl Iterator<Item = usize>,
) -> (Vec<Session>, Vec<usize>, usize) {
    let mut sessions = CutOperator::new(windows, 1).unwrap();
    let (mut states, mut found) = (Members::default(), Vec::new());
    let mut out = |name: &[u8], change: WindowChange, states: &mut Members| {
        let (window, end) = (change.window, change.end);
        let members = states.of(change.slot.unwrap());
        let (start, last) = (window.start.0, window.end.0);
        found.push((
            name[0],
            start,
            last,
            members,
            end.ordinal,
            end.ended_by.unwrap(),
        ));
        Ok(())
    };
    let (mut late, mut most) = (Vec::new(), 0);
    for row in order {
        let record = &records[row];
        let outcome = sessions.push(
            Record {
                rule: rule_of(record),
                ..Record::of(std::slice::from_ref(&record.key), extent_of(record), row)
            },
            &mut states,
            &mut out,
        );
        if matches!(outcome.unwrap(), RecordOutcome::Late(_)) {
            late.push(row);
        }
        most = most.max(sessions.store().len());
        assert_eq!(
            sessions.store().len(),
            states.used(),
            "each stored entry has its states"
        );
    }
    sessions.finish(&mut states, &mut out).unwrap();
    assert_eq!((states.used(), sessions.store().len()), (0, 0));
    found.sort();
    (found, late, most)
}

fn in_order(records: &[CutRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&row| records[row].time);
    order
}

pub(super) fn check(records: &[CutRecord], rules: Rules, expected: &[(i64, i64)]) {
    let oracle = oracle_cuts(records, rules, EndedBy::Open);
    let bounds: Vec<(i64, i64)> = oracle
        .iter()
        .map(|session| (session.1, session.2))
        .collect();
    assert_eq!(bounds, expected, "the oracle");
    assert_eq!(at_once(records, rules, &[]), oracle);
    let order = in_order(records).into_iter();
    assert_eq!(
        one_by_one(windows(rules, 0, true), records, order).0,
        oracle
    );
}

/// Records of one key and one gap that end no session.
fn every(times: &[i64], gap: i64) -> Vec<CutRecord> {
    times.iter().map(|&time| plain(time, gap)).collect()
}

pub(super) fn longest(longest: i64) -> Rules {
    Rules {
        longest: Some(longest),
        ..Rules::default()
    }
}

fn most(most: u64) -> Rules {
    Rules {
        most: Some(most),
        ..Rules::default()
    }
}

#[test]
fn a_session_is_exactly_as_long_as_it_may_be() {
    check(&every(&[0, 5, 9], 5), longest(10), &[(0, 9)]);
    check(&every(&[0, 5, 10], 5), longest(10), &[(0, 10)]);
    check(
        &every(&[0, 5, 10, 11], 6),
        longest(10),
        &[(0, 10), (11, 11)],
    );
    check(&every(&[0, 6, 11, 16], 6), longest(10), &[(0, 6), (11, 16)]);
}

#[test]
fn a_session_shorter_than_its_gap_is_cut_all_the_same() {
    check(&every(&[0, 1, 2, 3], 100), longest(1), &[(0, 1), (2, 3)]);
    check(&every(&[0, 2, 2, 3], 100), longest(1), &[(0, 0), (2, 3)]);
}

#[test]
fn a_session_ends_after_all_records_of_the_time_at_which_one_ends_it() {
    let mut records = every(&[0, 3, 3, 3, 4], 9);
    for row in 1..4 {
        records[row].ends = true;
        check(&records, Rules::default(), &[(0, 3), (4, 4)]);
        records[row].ends = false;
    }
    check(&records, Rules::default(), &[(0, 4)]);
}

#[test]
fn a_record_that_ends_its_session_holds_back_none_behind_it() {
    let mut records = every(&[0, 10, 11, 20], 1);
    (records[0].gap, records[0].ends) = (100, true);
    check(&records, Rules::default(), &[(0, 0), (10, 11), (20, 20)]);
}

#[test]
fn records_of_one_time_stay_together_unless_their_ties_differ() {
    let mut records = every(&[0, 1, 1, 1, 2], 9);
    check(&records, most(1), &[(0, 0), (1, 1), (2, 2)]);
    check(&records, most(2), &[(0, 1), (2, 2)]);
    check(&records, most(3), &[(0, 1), (2, 2)]);
    check(&records, most(5), &[(0, 2)]);
    (0..)
        .zip(&mut records)
        .for_each(|(tie, record)| record.tie = 9 - tie);
    check(&records, most(1), &[(0, 0), (1, 1), (1, 1), (1, 1), (2, 2)]);
    check(&records, most(2), &[(0, 1), (1, 1), (2, 2)]);
    let ends: Vec<(EndedBy, u32)> = oracle_cuts(&records, most(2), EndedBy::Open)
        .iter()
        .map(|session| (session.5, session.4))
        .collect();
    assert_eq!(
        ends,
        [
            (EndedBy::MaxRecords, 0),
            (EndedBy::MaxRecords, 0),
            (EndedBy::Open, 0)
        ]
    );
    records[2].begins = true; // the second record at 1
    check(&records, Rules::default(), &[(0, 1), (1, 2)]);
    records[2].begins = false;
    (records[2].value, records[1].value) = (7, 7); // the last two at 1
    check(&records, Rules::default(), &[(0, 1), (1, 1), (2, 2)]);
}

#[test]
fn a_session_ends_where_its_day_does() {
    let day = |day| Rules {
        day: Some(day),
        ..Rules::default()
    };
    let records = every(&[-2, -1, 0, 1, 86_399, 86_400], 1 << 20);
    check(&records, day(0), &[(-2, -1), (0, 86_399), (86_400, 86_400)]);
    check(&records, day(1), &[(-2, 0), (1, 86_400)]);
}

#[test]
fn the_earliest_and_the_latest_time_are_cut_like_others() {
    let (first, last) = (i64::MIN, i64::MAX);
    check(
        &every(&[first, first + 2, first + 3], 2),
        longest(2),
        &[(first, first + 2), (first + 3, first + 3)],
    );
    check(
        &every(&[last - 3, last - 1, last], 2),
        longest(2),
        &[(last - 3, last - 1), (last, last)],
    );
    check(
        &every(&[first, 0, last], last),
        longest(last),
        &[(first, first), (0, last)],
    );
    check(&every(&[last, last], last), longest(last), &[(last, last)]);
}

#[test]
fn updates_are_refused() {
    let windows = CutWindows {
        emit: Emit::Update,
        ..windows(Rules::default(), 0, false)
    };
    let refused = CutOperator::new(windows, 1).unwrap_err();
    assert!(matches!(&refused, Error::Argument { argument, .. } if argument == "emit"));
}

#[test]
fn a_key_that_is_never_quiet_closes_sessions_and_its_state_stays_small() {
    let records = every(&(0..3000).collect::<Vec<_>>(), 5);
    for rules in [
        longest(10),
        most(7),
        Rules {
            day: Some(9),
            ..most(50)
        },
    ] {
        let (found, late, stored) =
            one_by_one(windows(rules, 20, false), &records, 0..records.len());
        assert_eq!(found, {
            let mut batch = oracle_cuts(&records, rules, EndedBy::Open);
            batch.sort();
            batch
        });
        assert!(
            late.is_empty() && stored <= 23,
            "{stored} entries for {rules:?}"
        );
    }
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![12 => -15..25_i64, 1 => i64::MIN..i64::MIN + 6, 1 => i64::MAX - 6..=i64::MAX]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_any_order_and_any_frontier_gives_the_sessions_of_the_rules(
        records in prop::collection::vec(record(time()), 0..60), rules in rules(),
        frontiers in prop::collection::vec(-15..25_i64, 0..4), seed: u64,
    ) {
        let expected = oracle_cuts(&records, rules, EndedBy::Open);
        prop_assert_eq!(at_once(&records, rules, &frontiers), expected);
        let mut records = records;
        Random(seed).shuffle(&mut records);
        let expected = oracle_cuts(&records, rules, EndedBy::Open);
        prop_assert_eq!(at_once(&records, rules, &frontiers), expected);
    }

    #[test]
    fn oracle_records_that_come_in_order_give_the_same_sessions(
        records in prop::collection::vec(record(time()), 0..60), rules in rules(), shares_a_time: bool,
    ) {
        let mut records = records;
        records.sort_by_key(|record| (record.time, record.key, record.tie));
        if !shares_a_time {
            records.dedup_by_key(|record| (record.time, record.key));
        }
        let expected = oracle_cuts(&records, rules, EndedBy::Open);
        prop_assert_eq!(at_once(&records, rules, &[0]), expected);
    }

    #[test]
    fn oracle_record_by_record_in_order_gives_the_same_sessions(
        records in prop::collection::vec(record(time()), 0..60), rules in rules(),
    ) {
        let order = in_order(&records);
        let found = one_by_one(windows(rules, 0, true), &records, order.into_iter()).0;
        prop_assert_eq!(found, oracle_cuts(&records, rules, EndedBy::Open));
    }

    #[test]
    fn oracle_a_stream_gives_the_sessions_of_all_records_that_are_not_late(
        records in prop::collection::vec(record(-15..60_i64), 0..60), rules in rules(), grace in 0..40_u64,
    ) {
        let (found, late, _) = one_by_one(windows(rules, grace, false), &records, 0..records.len());
        let mut latest = i64::MIN;
        for (row, record) in records.iter().enumerate() {
            latest = latest.max(record.time);
            prop_assert_eq!(late.contains(&row), record.time < latest - grace as i64);
        }
        let in_time: Vec<usize> = (0..records.len()).filter(|row| !late.contains(row)).collect();
        let accepted: Vec<CutRecord> = in_time.iter().map(|&row| records[row]).collect();
        let mut expected = oracle_cuts(&accepted, rules, EndedBy::Open);
        for session in &mut expected {
            session.3.iter_mut().for_each(|row| *row = in_time[*row]);
            // A last session that a stream has closed ended by its gap.
            if let (EndedBy::Open, Some(own)) = (session.5, found.iter().find(|own| own.3 == session.3)) {
                let reach = session.3.iter().map(|&row| i128::from(records[row].end()) + i128::from(records[row].gap));
                let is_closed = reach.max().unwrap() < i128::from(latest) - i128::from(grace);
                prop_assert_eq!(own.5 == EndedBy::Gap, is_closed);
                session.5 = own.5;
            }
        }
        prop_assert_eq!(found, expected);
    }
}
