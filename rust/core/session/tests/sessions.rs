//! The session operator against brute force.

use std::collections::BTreeMap;

use crate::core::error::Result;
use crate::core::operator::change::{Emit, Late, Op, WindowChange};
use crate::core::operator::record::{Record, RecordOutcome};
use crate::core::operator::stream_time::Source;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Gap, SessionWindows};
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use proptest::prelude::*;

use crate::core::tests::window_members::Members;

/// A record of a test: key, time, own gap.
pub(crate) type Event = (u8, i64, i64);
/// Key, start, end, and the records in it.
pub(crate) type Row = (u8, i64, i64, Vec<usize>);

pub(crate) fn record(of: Gap, number: usize, &(ref key, time, gap): &Event) -> Record<'_, usize> {
    let extent = Extent::of(Time(time), of.of(Some(gap)).unwrap());
    Record::of(std::slice::from_ref(key), extent, number)
}

/// The results of a run of an operator.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) finals: Vec<Row>,
    /// The windows that are left after all upserts and deletes.
    pub(crate) table: BTreeMap<(u8, i64, i64), Vec<usize>>,
    pub(crate) late: Vec<usize>,
    pub(crate) late_rows: Vec<Row>,
    pub(crate) outcomes: Vec<RecordOutcome>,
}

impl Answers {
    pub(crate) fn of(rule: SessionWindows, events: &[Event]) -> Self {
        let mut sessions = SessionOperator::new(rule, 1).unwrap();
        let (mut states, mut run) = (Members::default(), Self::default());
        for (number, event) in events.iter().enumerate() {
            let outcome = sessions
                .push(
                    record(rule.gap, number, event),
                    &mut states,
                    &mut run.sink(),
                )
                .unwrap();
            run.outcomes.push(outcome);
            if matches!(outcome, RecordOutcome::Late(_)) {
                run.late.push(number);
            }
            assert_eq!(
                states.used(),
                sessions.store().len(),
                "every slot belongs to a stored session"
            );
        }
        sessions.finish(&mut states, &mut run.sink()).unwrap();
        assert_eq!(states.used(), 0);
        assert_eq!(sessions.counters().late, run.late.len() as u64);
        run
    }

    pub(crate) fn sink(
        &mut self,
    ) -> impl FnMut(&[u8], WindowChange, &mut Members) -> Result<()> + '_ {
        |name, change, states| {
            let (key, start, end) = (name[0], change.window.start.0, change.window.end.0);
            let members = change.slot.map(|slot| states.of(slot));
            assert_eq!(change.time, change.window.end);
            match change.op {
                Op::Upsert => drop(self.table.insert((key, start, end), members.unwrap())),
                Op::Delete => assert!(
                    self.table.remove(&(key, start, end)).is_some(),
                    "only what is there is deleted"
                ),
                Op::Final => self.finals.push((key, start, end, members.unwrap())),
                Op::Late => self.late_rows.push((key, start, end, members.unwrap())),
            }
            Ok(())
        }
    }

    fn finals(mut self) -> Vec<Row> {
        self.finals.sort();
        self.finals
    }
}

/// Stepwise: closed sessions are frozen, a record joins others; sessions are plain sets of
/// records.
fn oracle_stepwise(
    gap: impl Fn(i64) -> i64,
    grace: i64,
    events: &[Event],
) -> (Vec<Row>, Vec<usize>) {
    let (mut open, mut frozen, mut late): (Vec<Vec<usize>>, Vec<Vec<usize>>, Vec<usize>) =
        Default::default();
    let mut stream_time = i64::MIN;
    let reach = |set: &Vec<usize>| {
        set.iter()
            .map(|&n| events[n].1 + gap(events[n].2))
            .max()
            .unwrap()
    };
    let start = |set: &Vec<usize>| set.iter().map(|&n| events[n].1).min().unwrap();
    for (number, &(key, time, own)) in events.iter().enumerate() {
        stream_time = stream_time.max(time);
        let close = stream_time - grace;
        let (closed, rest) = std::mem::take(&mut open)
            .into_iter()
            .partition(|set| reach(set) < close);
        frozen.extend::<Vec<Vec<usize>>>(closed);
        let (joined, mut others): (Vec<_>, Vec<_>) = Vec::into_iter(rest).partition(|set| {
            events[set[0]].0 == key && time <= reach(set) && start(set) <= time + gap(own)
        });
        let mut merged: Vec<usize> = joined.iter().flatten().copied().collect();
        merged.push(number);
        if reach(&merged) < close {
            late.push(number);
            others.extend(joined);
        } else {
            others.push(merged);
        }
        open = others;
    }
    (rows(events, open.into_iter().chain(frozen)), late)
}

/// Plain connected components of all records.
fn oracle_components(gap: impl Fn(i64) -> i64, events: &[Event]) -> Vec<Row> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&n| (events[n].0, events[n].1));
    let mut sets: Vec<(u8, i64, Vec<usize>)> = Vec::new();
    for n in order {
        let (key, time, own) = events[n];
        match sets.last_mut() {
            Some((last, reach, set)) if *last == key && time <= *reach => {
                *reach = (*reach).max(time + gap(own));
                set.push(n);
            }
            _ => sets.push((key, time + gap(own), vec![n])),
        }
    }
    rows(events, sets.into_iter().map(|(_, _, set)| set))
}

fn rows(events: &[Event], sets: impl Iterator<Item = Vec<usize>>) -> Vec<Row> {
    let mut rows: Vec<Row> = sets
        .map(|mut set| {
            set.sort_unstable();
            let times = set.iter().map(|&n| events[n].1);
            (
                events[set[0]].0,
                times.clone().min().unwrap(),
                times.max().unwrap(),
                set,
            )
        })
        .collect();
    rows.sort();
    rows
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let step = prop_oneof![8 => -12..14_i64, 1 => 30..80_i64, 1 => -60..-20_i64];
    prop::collection::vec((0..3_u8, step, 1..14_i64), 0..60).prop_map(|steps| {
        let mut time = 0;
        steps
            .into_iter()
            .map(|(key, step, gap)| {
                time += step;
                (key, time, gap)
            })
            .collect()
    })
}

pub(crate) fn fixed(gap: i64, grace: i64, emit: Emit) -> SessionWindows {
    SessionWindows {
        emit,
        ..SessionWindows::with_gap(Span(gap as u64), Some(Span(grace as u64)))
    }
}

pub(crate) fn dynamic(retention: i64, grace: i64, emit: Emit) -> SessionWindows {
    SessionWindows {
        gap: Gap::Dynamic {
            longest: Some(Span(retention as u64)),
            takes_zero: false,
        },
        ..fixed(1, grace, emit)
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn finals_equal_the_stepwise_oracle(events in events(), gap in 0..12_i64, grace in 0..25_i64) {
        let (expected, late) = oracle_stepwise(|_| gap, grace, &events);
        let run = Answers::of(fixed(gap, grace, Emit::Close), &events);
        prop_assert_eq!(&run.late, &late);
        prop_assert_eq!(run.finals(), expected);
    }

    #[test]
    fn updates_leave_the_finals(events in events(), gap in 0..12_i64, grace in 0..25_i64) {
        let (expected, _) = oracle_stepwise(|_| gap, grace, &events);
        let run = Answers::of(fixed(gap, grace, Emit::Update), &events);
        prop_assert!(run.finals.is_empty());
        let table: Vec<Row> = run.table.into_iter().map(|((key, start, end), members)| (key, start, end, members)).collect();
        prop_assert_eq!(table, expected);
    }

    #[test]
    fn dynamic_gaps_equal_the_stepwise_oracle(events in events(), retention in 1..16_i64, grace in 0..25_i64) {
        let (expected, late) = oracle_stepwise(|own| own.min(retention), grace, &events);
        let run = Answers::of(dynamic(retention, grace, Emit::Close), &events);
        prop_assert_eq!(&run.late, &late);
        prop_assert_eq!(run.finals(), expected);
    }

    #[test]
    fn a_constant_dynamic_gap_is_a_fixed_gap(events in events(), gap in 1..12_i64, grace in 0..25_i64) {
        let constant: Vec<Event> = events.iter().map(|&(key, time, _)| (key, time, gap)).collect();
        let (a, b) = (Answers::of(dynamic(20, grace, Emit::Close), &constant), Answers::of(fixed(gap, grace, Emit::Close), &constant));
        prop_assert_eq!(a.outcomes, b.outcomes);
        prop_assert_eq!(a.finals, b.finals);
    }

    #[test]
    fn within_the_grace_finals_are_connected_components_in_any_order(
        events in events(), swaps in prop::collection::vec((0..60_usize, 0..60_usize), 0..30), retention in 1..16_i64,
    ) {
        let mut shuffled = events;
        for (a, b) in swaps.into_iter().filter(|&(a, b)| a.max(b) < shuffled.len()).collect::<Vec<_>>() {
            shuffled.swap(a, b);
        }
        let run = Answers::of(dynamic(retention, 10_000, Emit::Close), &shuffled);
        prop_assert_eq!(run.finals(), oracle_components(|own| own.min(retention), &shuffled));
        let run = Answers::of(SessionWindows { grace: None, ..dynamic(retention, 0, Emit::Close) }, &shuffled);
        prop_assert_eq!(run.finals(), oracle_components(|own| own.min(retention), &shuffled));
    }

    #[test]
    fn finals_of_a_key_depend_on_stream_time_only(events in events(), gap in 0..12_i64, grace in 0..25_i64) {
        // Key 0 alone, with ticks in place of the other keys' records.
        let whole = Answers::of(fixed(gap, grace, Emit::Close), &events);
        let mut sessions = SessionOperator::new(fixed(gap, grace, Emit::Close), 1).unwrap();
        let (mut states, mut run) = (Members::default(), Answers::default());
        for (number, event) in events.iter().enumerate() {
            if event.0 == 0 {
                sessions.push(record(Gap::Fixed(Span(gap as u64)), number, event), &mut states, &mut run.sink()).unwrap();
            } else {
                sessions.tick(Some(0), Some(Source(0)), Some(Time(event.1)), &mut states, &mut run.sink()).unwrap();
            }
        }
        sessions.finish(&mut states, &mut run.sink()).unwrap();
        let expected: Vec<Row> = whole.finals.into_iter().filter(|row| row.0 == 0).collect();
        prop_assert_eq!(run.finals, expected);
    }

    #[test]
    fn a_late_record_may_leave_alone(events in events(), gap in 0..12_i64, grace in 0..25_i64) {
        let run = Answers::of(SessionWindows { late: Late::Emit, ..fixed(gap, grace, Emit::Close) }, &events);
        let expected: Vec<Row> = run.late.iter().map(|&n| (events[n].0, events[n].1, events[n].1, vec![n])).collect();
        prop_assert_eq!(&run.late_rows, &expected);
        prop_assert_eq!(run.finals(), oracle_stepwise(|_| gap, grace, &events).0);
    }

    #[test]
    fn nothing_makes_it_panic(
        events in prop::collection::vec((0..4_u8, any_time(), any_time(), 0..3_usize, 0..3_u32, 0..8_u8), 0..40),
        gap in any_span(), grace in prop::option::of(any_span()), until in prop::option::of(any_span()),
        update in any::<bool>(), late in any::<bool>(), own in any::<bool>(),
    ) {
        let gap = if own { Gap::Dynamic { longest: Some(gap), takes_zero: false } } else { Gap::Fixed(gap) };
        let emit = if update { Emit::Update } else { Emit::Close };
        let late = if late { Late::Emit } else { Late::Drop };
        let Ok(mut sessions) = SessionOperator::new(SessionWindows { gap, grace, until, emit, late, segment: None, has_ends: false }, 2) else { return Ok(()) };
        let mut states = Members::default();
        let mut out = |_: &[u8], _: WindowChange, _: &mut Members| Ok(());
        for (number, (key, time, own, input, source, kind)) in events.iter().enumerate() {
            match kind {
                0 => sessions.tick(Some(*input), Some(Source(*source)), Some(Time(*time)), &mut states, &mut out).unwrap(),
                1 => sessions.tick(Some(*input), None, Some(Time(*time)), &mut states, &mut out).unwrap(),
                _ => {
                    let event = (*key, *time, (*own).max(1));
                    let record = record(gap, number, &event).input_of(*input, *source);
                    sessions.push(record, &mut states, &mut out).unwrap();
                }
            }
            prop_assert_eq!(states.used(), sessions.store().len());
        }
    }
}

/// Times of every size.
pub(crate) fn any_time() -> impl Strategy<Value = i64> {
    let near = -3..4_i64;
    (
        prop_oneof![
            Just(0),
            Just(i64::MIN),
            Just(i64::MAX),
            Just(100),
            any::<i64>()
        ],
        near,
    )
        .prop_map(|(time, near)| time.saturating_add(near))
}

/// Lengths of every size.
pub(crate) fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![
        0..6_u64,
        Just(10),
        Just(u64::MAX),
        Just(i64::MAX as u64),
        any::<u64>()
    ]
    .prop_map(Span)
}

/// A record of another input and source.
pub(crate) trait Of {
    fn input_of(self, input: usize, source: u32) -> Self;
}

impl<R> Of for Record<'_, R> {
    fn input_of(self, input: usize, source: u32) -> Self {
        Self {
            input,
            source: Source(source),
            ..self
        }
    }
}
