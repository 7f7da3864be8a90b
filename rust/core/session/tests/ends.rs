//! Sessions of records that have an end of their own, against brute force: at once, and record by
//! record.
//!
//! ```text
//!   records     ├────┤ ···      gap 3
//!                 ├─┤ ···
//!                         ├┤    starts after the reach of both
//!   sessions    [────]    [┤
//! ```

use proptest::prelude::*;

use crate::core::aggregate::tests::trial::Random;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::change::{Emit, Late, Op, WindowChange};
use crate::core::operator::record::{Record, RecordOutcome};
use crate::core::session::batch::OpenSessions;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Gap, SessionWindows};
use crate::core::session::tests::sessions::{Row, fixed};
use crate::core::tests::window_members::Members;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

/// A record with its own end and gap.
#[derive(Clone, Copy, Debug)]
struct Call {
    key: u8,
    time: i64,
    end: i64,
    gap: i64,
}

impl Call {
    fn reach(&self) -> i64 {
        self.end + self.gap
    }

    fn record(&self, gap: Gap, row: usize) -> Record<'_, usize> {
        let gap = gap.of(Some(self.gap)).unwrap();
        let extent = Extent::lasting(Time(self.time), Time(self.end), gap);
        Record::of(std::slice::from_ref(&self.key), extent, row)
    }
}

/// Calls of one key.
fn calls_of<const N: usize>(bounds: [(i64, i64); N]) -> Vec<Call> {
    let call = |(time, end)| Call {
        key: 0,
        time,
        end,
        gap: 0,
    };
    bounds.map(call).into()
}

/// A session as the set of its records.
#[derive(Clone, Debug)]
struct Set(Vec<usize>);

impl Set {
    fn start(&self, calls: &[Call]) -> i64 {
        self.0.iter().map(|&row| calls[row].time).min().unwrap()
    }

    fn end(&self, calls: &[Call]) -> i64 {
        self.0.iter().map(|&row| calls[row].end).max().unwrap()
    }

    fn reach(&self, calls: &[Call]) -> i64 {
        self.0.iter().map(|&row| calls[row].reach()).max().unwrap()
    }

    fn bounds(&self, calls: &[Call]) -> (i64, i64) {
        (self.start(calls), self.end(calls))
    }

    fn joins(&self, call: &Call, calls: &[Call]) -> bool {
        let is_of_key = calls[self.0[0]].key == call.key;
        is_of_key && call.time <= self.reach(calls) && self.start(calls) <= call.reach()
    }

    fn row(&self, calls: &[Call]) -> Row {
        let (start, end) = self.bounds(calls);
        let mut members = self.0.clone();
        members.sort_unstable();
        (calls[self.0[0]].key, start, end, members)
    }
}

/// A change: its kind, key and bounds.
type Change = (&'static str, u8, i64, i64);

/// What the steps of rules 9.1 give.
#[derive(Debug, Default)]
struct Steps {
    finals: Vec<Row>,
    changes: Vec<Change>,
    late: Vec<usize>,
    behind: u64,
}

/// Each record joins the open sessions that it reaches or that reach it, and closed ones are frozen.
fn oracle_steps(calls: &[Call], grace: i64) -> Steps {
    let (mut steps, mut open, mut frozen) = (Steps::default(), Vec::<Set>::new(), Vec::new());
    let mut time = i64::MIN;
    for (row, call) in calls.iter().enumerate() {
        time = time.max(call.time);
        let close = time - grace;
        let (closed, rest): (Vec<Set>, Vec<Set>) =
            open.into_iter().partition(|set| set.reach(calls) < close);
        frozen.extend(closed);
        let (mut joined, others): (Vec<Set>, Vec<Set>) =
            rest.into_iter().partition(|set| set.joins(call, calls));
        let members = joined.iter().flat_map(|set| set.0.iter().copied());
        let merged = Set(members.chain([row]).collect());
        open = others;
        if merged.reach(calls) < close {
            steps.late.push(row);
            open.extend(joined);
            continue;
        }
        steps.behind += u64::from(call.time < close);
        joined.sort_by_key(|set| set.end(calls));
        let (own, whole) = ((call.time, call.end), merged.bounds(calls));
        let gone = joined.iter().map(|set| set.bounds(calls));
        let gone = gone.filter(|&bounds| bounds != own || whole != own);
        let delete = |(start, end)| ("delete", call.key, start, end);
        steps.changes.extend(gone.map(delete));
        steps.changes.push(("upsert", call.key, whole.0, whole.1));
        open.push(merged);
    }
    let sets = open.iter().chain(&frozen);
    steps.finals = sets.map(|set| set.row(calls)).collect();
    steps.finals.sort();
    steps
}

fn windows(gap: Option<i64>, grace: i64, emit: Emit) -> SessionWindows {
    let gap = match gap {
        Some(gap) => Gap::Fixed(Span(gap as u64)),
        None => Gap::Dynamic {
            longest: None,
            takes_zero: true,
        },
    };
    SessionWindows {
        gap,
        has_ends: true,
        ..fixed(1, grace, emit)
    }
}

/// What the operator gives, record by record.
fn steps(calls: &[Call], windows: SessionWindows) -> Steps {
    let mut sessions = SessionOperator::new(windows, 1).unwrap();
    let (mut states, mut steps) = (Members::default(), Steps::default());
    let (mut finals, mut changes) = (Vec::new(), Vec::new());
    let mut out = |name: &[u8], change: WindowChange, states: &mut Members| {
        let (start, end) = (change.window.start.0, change.window.end.0);
        assert_eq!(change.time.0, end);
        match change.op {
            Op::Upsert => changes.push(("upsert", name[0], start, end)),
            Op::Delete => changes.push(("delete", name[0], start, end)),
            Op::Late => changes.push(("late", name[0], start, end)),
            Op::Final => finals.push((name[0], start, end, states.of(change.slot.unwrap()))),
        }
        Ok(())
    };
    for (row, call) in calls.iter().enumerate() {
        let outcome = sessions.push(call.record(windows.gap, row), &mut states, &mut out);
        if let RecordOutcome::Late(_) = outcome.unwrap() {
            steps.late.push(row);
        }
        assert_eq!(states.used(), sessions.store().len());
    }
    sessions.finish(&mut states, &mut out).unwrap();
    finals.sort();
    (steps.finals, steps.changes) = (finals, changes);
    steps.behind = sessions.counters().behind;
    steps
}

/// Sessions from all rows, which come in calls of any lengths.
fn at_once(calls: &[Call], random: &mut Random) -> Vec<Row> {
    let mut sessions = OpenSessions::default();
    let (mut slots, mut rest) = (Vec::new(), calls);
    while !rest.is_empty() {
        let (some, others) = rest.split_at((1 + random.below(9)).min(rest.len()));
        let keys: Vec<KeyId> = some.iter().map(|call| KeyId(call.key.into())).collect();
        let times: Vec<Time> = some.iter().map(|call| Time(call.time)).collect();
        let extent = |row: usize, time: Time| {
            let call: &Call = &some[row];
            Extent::lasting(time, Time(call.end), Span(call.gap as u64))
        };
        let own = sessions.assign_each(&keys, &times, extent, &Interrupt::never());
        slots.extend(own.unwrap());
        rest = others;
    }
    let whole = sessions.coalesce(&Interrupt::never()).unwrap();
    let mut sets = vec![Vec::new(); whole.extents.len()];
    for (row, slot) in slots.into_iter().enumerate() {
        let slot = slot.0 as usize;
        let moves = whole.moves.as_ref();
        sets[moves.map_or(slot, |moves| moves[slot].0 as usize)].push(row);
    }
    let mut found: Vec<Row> = sets.into_iter().map(|set| Set(set).row(calls)).collect();
    for (own, (key, extent)) in whole.keys.iter().zip(&whole.extents).enumerate() {
        let window = extent.window();
        let is_own = |row: &&Row| (row.1, row.2) == (window.start.0, window.end.0);
        let row = found.get(own).filter(is_own);
        assert_eq!(row.map(|row| u32::from(row.0)), Some(key.0));
    }
    found.sort();
    found
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let step = prop_oneof![8 => -12..14_i64, 1 => 30..80_i64, 1 => -60..-20_i64];
    let length = prop_oneof![2 => Just(0), 4 => 1..12_i64, 1 => 12..70_i64];
    let call = (0..3_u8, step, length, 0..10_i64);
    prop::collection::vec(call, 0..60).prop_map(|calls| {
        let mut time = 0;
        let call = |(key, step, length, gap)| {
            time += step;
            Call {
                key,
                time,
                end: time + length,
                gap,
            }
        };
        calls.into_iter().map(call).collect()
    })
}

/// The same with one gap.
fn with_gap(calls: &[Call], gap: Option<i64>) -> Vec<Call> {
    let calls = calls.iter().map(|&call| Call {
        gap: gap.unwrap_or(call.gap),
        ..call
    });
    calls.collect()
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_sessions_at_once_are_the_connected_records(calls in calls(), gap in prop::option::of(0..10_i64), seed: u64) {
        let calls = with_gap(&calls, gap);
        let expected = oracle_steps(&calls, 100_000).finals;
        prop_assert_eq!(at_once(&calls, &mut Random(seed)), expected);
    }

    #[test]
    fn oracle_each_record_takes_kafkas_steps(
        calls in calls(), gap in prop::option::of(0..10_i64), grace in prop_oneof![0..25_i64, 0..200_i64],
    ) {
        let calls = with_gap(&calls, gap);
        let expected = oracle_steps(&calls, grace);
        let closes = steps(&calls, windows(gap, grace, Emit::Close));
        prop_assert_eq!(&closes.late, &expected.late);
        prop_assert_eq!(closes.finals, expected.finals);
        prop_assert_eq!(closes.behind, expected.behind);
        let updates = steps(&calls, windows(gap, grace, Emit::Update));
        prop_assert_eq!(updates.changes, expected.changes);
    }
}

#[test]
fn a_session_that_a_record_covers_is_deleted_and_one_with_its_own_bounds_is_overwritten() {
    //   11       [11, 11]
    //   9 ── 13  covers it: a delete, and an upsert
    //   9 ── 13  again: overwrites its own bounds
    //   10 ─ 12  within: a delete and an upsert of the same bounds
    let calls = calls_of([(11, 11), (9, 13), (9, 13), (10, 12)]);
    let found = steps(&calls, windows(Some(0), 100, Emit::Update)).changes;
    let own: Vec<(&str, i64, i64)> = found.iter().map(|own| (own.0, own.2, own.3)).collect();
    assert_eq!(
        own,
        [
            ("upsert", 11, 11),
            ("delete", 11, 11),
            ("upsert", 9, 13),
            ("upsert", 9, 13),
            ("delete", 9, 13),
            ("upsert", 9, 13)
        ]
    );
}

#[test]
fn records_join_at_the_very_end_of_their_gap_and_not_after_it() {
    // [0, 10] with a gap of 5 reaches 15
    for (time, sessions) in [(14, 1), (15, 1), (16, 2)] {
        let calls = calls_of([(0, 10), (time, time + 20)]);
        let calls = with_gap(&calls, Some(5));
        for order in [[0, 1], [1, 0]] {
            let calls = order.map(|row| calls[row]);
            let found = steps(&calls, windows(Some(5), 100, Emit::Close)).finals;
            assert_eq!(found.len(), sessions, "{time}");
            assert_eq!(at_once(&calls, &mut Random(1)).len(), sessions, "{time}");
        }
    }
}

#[test]
fn a_record_that_ends_after_stream_time_holds_its_session_open() {
    // [0, 50] is open at 50, and closes after it; a record at 20 is behind, but joins it.
    let calls = calls_of([
        (0, 50),
        (40, 40),
        (20, 21),
        (50, 50),
        (51, 51),
        (52, 52),
        (20, 21),
    ]);
    let calls: Vec<Call> = calls
        .into_iter()
        .enumerate()
        .map(|(row, call)| Call {
            key: u8::from([1, 3, 4, 5].contains(&row)),
            ..call
        })
        .collect();
    let found = steps(&calls, windows(Some(0), 0, Emit::Close));
    assert_eq!((found.late, found.behind), (vec![6], 1));
    assert_eq!(found.finals[0], (0, 0, 50, vec![0, 2]));
}

#[test]
fn a_late_record_leaves_alone_with_its_own_bounds() {
    let late = SessionWindows {
        late: Late::Emit,
        ..windows(Some(5), 0, Emit::Update)
    };
    // [0, 3] reaches 8
    let found = steps(&calls_of([(100, 100), (0, 3)]), late);
    assert_eq!(found.changes[1..], [("late", 0, 0, 3)]);
}
