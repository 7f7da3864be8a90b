//! Sessions that rules end, by the rules taken literally: the records of a key by (time, tie), those of
//! one time and tie together, each in the session of those before it or in the next one.
//!
//! ```text
//!   records    0   4   8   12     16         gap 5, none longer than 10
//!   sessions   [0,8] [12,16]                 12 is more than 10 after 0
//!   12 ends    [0,8] [12,12] [16,16]
//! ```

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::core::operator::session_end::EndedBy;
use crate::core::session::cut::Cut;
use crate::core::session::day_borders::DayBorders;
use crate::core::time::Span;

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutRecord {
    pub key: u8,
    pub time: i64,
    pub length: i64,
    pub tie: u64,
    pub gap: i64,
    pub ends: bool,
    pub begins: bool,
    pub value: u64,
}

impl CutRecord {
    /// Its end, which is its time if it has no length.
    pub(crate) fn end(&self) -> i64 {
        self.time.saturating_add(self.length)
    }
}

/// A record of key 1 that no rule is about.
pub(crate) fn plain(time: i64, gap: i64) -> CutRecord {
    CutRecord {
        key: 1,
        time,
        length: 0,
        tie: 0,
        gap,
        ends: false,
        begins: false,
        value: 0,
    }
}

/// The rules of a query. A day begins at second `day`, and a tick is a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    pub longest: Option<i64>,
    pub most: Option<u64>,
    pub day: Option<u32>,
}

impl Rules {
    pub(super) fn cut(self) -> Cut {
        let borders = |at| DayBorders {
            at,
            zone: None,
            per_second: 1,
        };
        Cut {
            longest: self.longest.map(|longest| Span(longest as u64)),
            most: self.most,
            borders: self.day.map(borders),
        }
    }
}

/// A session: its key, bounds, records, ordinal and end.
pub(crate) type Session = (u8, i64, i64, Vec<usize>, u32, EndedBy);

/// The rules on unbounded integers. `silence` is the end of the last session of a key.
pub(crate) fn oracle_cuts(records: &[CutRecord], rules: Rules, silence: EndedBy) -> Vec<Session> {
    let mut of_key: BTreeMap<u8, BTreeMap<(i64, u64), Vec<usize>>> = BTreeMap::new();
    for (row, record) in records.iter().enumerate() {
        let groups = of_key.entry(record.key).or_default();
        groups
            .entry((record.time, record.tie))
            .or_default()
            .push(row);
    }
    let all =
        |rows: &[usize], is: fn(&CutRecord) -> bool| rows.iter().any(|&row| is(&records[row]));
    let mut found = Vec::new();
    for (key, groups) in of_key {
        let mut sessions: Vec<(Vec<Vec<usize>>, EndedBy)> = Vec::new();
        for group in groups.into_values() {
            let time = i128::from(records[group[0]].time);
            let Some((session, end)) = sessions.last_mut() else {
                sessions.push((vec![group], silence));
                continue;
            };
            let last = session.last().unwrap().clone();
            let members: Vec<&CutRecord> =
                session.iter().flatten().map(|&row| &records[row]).collect();
            let reach = members
                .iter()
                .map(|own| i128::from(own.end()) + i128::from(own.gap))
                .max()
                .unwrap();
            let start = i128::from(members[0].time);
            let joining = group.iter().map(|&row| &records[row]);
            let ends = members.iter().copied().chain(joining).map(CutRecord::end);
            let latest = i128::from(ends.max().unwrap());
            let day = |time: i128| {
                rules
                    .day
                    .map(|day| (time - i128::from(day)).div_euclid(86_400))
            };
            let first = records[group[0]].value;
            let reasons = [
                (all(&last, |own| own.ends), EndedBy::EndWhen),
                (
                    rules.most.is_some_and(|most| members.len() as u64 >= most),
                    EndedBy::MaxRecords,
                ),
                (time > reach, EndedBy::Gap),
                (all(&group, |own| own.begins), EndedBy::StartWhen),
                (
                    last.iter()
                        .chain(&group)
                        .any(|&row| records[row].value != first),
                    EndedBy::CutOn,
                ),
                (
                    day(time) != day(i128::from(records[last[0]].time)),
                    EndedBy::CutAt,
                ),
                (
                    rules
                        .longest
                        .is_some_and(|longest| latest - start > i128::from(longest)),
                    EndedBy::MaxDuration,
                ),
            ];
            match reasons.into_iter().find(|(holds, _)| *holds) {
                Some((_, reason)) => {
                    *end = reason;
                    sessions.push((vec![group], silence));
                }
                None => session.push(group),
            }
        }
        if let Some((session, end)) = sessions.last_mut() {
            if all(session.last().unwrap(), |own| own.ends) {
                *end = EndedBy::EndWhen;
            } else if rules
                .most
                .is_some_and(|most| session.iter().flatten().count() as u64 >= most)
            {
                *end = EndedBy::MaxRecords;
            }
        }
        let mut ordinals: BTreeMap<i64, u32> = BTreeMap::new();
        for (session, end) in sessions {
            let mut members: Vec<usize> = session.iter().flatten().copied().collect();
            let start = records[members[0]].time;
            let last = members.iter().map(|&row| records[row].end()).max().unwrap();
            members.sort();
            let ordinal = ordinals.entry(start).or_default();
            found.push((key, start, last, members, *ordinal, end));
            *ordinal += 1;
        }
    }
    found.sort();
    found
}

prop_compose! {
    pub(crate) fn record(time: impl Strategy<Value = i64>)(
        key in 0..3_u8,
        time in time,
        length in prop_oneof![6 => Just(0_i64), 3 => 1..15_i64, 1 => 15..60_i64, 1 => Just(i64::MAX)],
        tie in prop_oneof![2 => Just(0_u64), 1 => 0..4_u64],
        gap in prop_oneof![8 => 0..6_i64, 2 => 6..40_i64, 1 => Just(i64::MAX)],
        ends in prop::bool::weighted(0.15),
        begins in prop::bool::weighted(0.15),
        value in prop_oneof![5 => Just(0_u64), 1 => 1..3_u64],
    ) -> CutRecord {
        CutRecord { key, time, length, tie, gap, ends, begins, value }
    }
}

prop_compose! {
    pub(crate) fn rules()(
        longest in prop_oneof![2 => Just(None), 3 => (1..12_i64).prop_map(Some), 1 => Just(Some(i64::MAX))],
        most in prop::option::of(1..6_u64),
        day in prop::option::of(0..9_u32),
    ) -> Rules {
        Rules { longest, most, day }
    }
}
