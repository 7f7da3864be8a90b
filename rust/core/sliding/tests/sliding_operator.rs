//! The sliding operator against brute force.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Emit, Late, Op, WindowChange};
use crate::core::operator::record::{Record, RecordOutcome};
use crate::core::operator::stream_time::Source;
use crate::core::sliding::plan::Sliding;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows::SlidingWindows;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use crate::core::window::Window;
use proptest::prelude::*;

use crate::core::session::tests::sessions::{any_span, any_time};
use crate::core::tests::window_members::Members;

/// A record of a test: key and time.
pub(crate) type Event = (u8, i64);
/// Key and start, and the records in the window.
pub(crate) type Table = BTreeMap<(u8, i64), Vec<usize>>;

pub(crate) fn record(number: usize, &(ref key, time): &Event) -> Record<'_, usize> {
    let extent = Extent::of(Time(time), Span(0));
    Record::of(std::slice::from_ref(key), extent, number)
}

#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) finals: Table,
    pub(crate) table: Table,
    pub(crate) late_rows: Vec<(u8, i64, Vec<usize>)>,
    pub(crate) outcomes: Vec<RecordOutcome>,
    pub(crate) refused: u64,
}

impl Answers {
    pub(crate) fn of(rule: SlidingWindows, events: &[Event]) -> Self {
        let mut slides = SlidingOperator::new(rule, 1).unwrap();
        let (mut states, mut run) = (Members::default(), Self::default());
        for (number, event) in events.iter().enumerate() {
            let outcome = slides
                .push(record(number, event), &mut states, &mut run.sink(events))
                .unwrap();
            run.outcomes.push(outcome);
            assert_eq!(
                states.used(),
                slides.store().len(),
                "every slot belongs to a stored window"
            );
        }
        slides.finish(&mut states, &mut run.sink(events)).unwrap();
        assert_eq!(states.used(), 0);
        run.refused = slides.counters().windows_refused;
        run
    }

    pub(crate) fn sink<'a>(
        &'a mut self,
        events: &'a [Event],
    ) -> impl FnMut(&[u8], WindowChange, &mut Members) -> Result<()> + 'a {
        move |name, change, states| {
            let place = (name[0], change.window.start.0);
            let members = states.of(change.slot.unwrap());
            match change.op {
                Op::Upsert => drop(self.table.insert(place, members)),
                Op::Final => {
                    let largest = members.iter().map(|&n| events[n].1).max();
                    assert_eq!(
                        Some(change.time.0),
                        largest,
                        "stamped with the largest record time"
                    );
                    assert_eq!(
                        self.finals.insert(place, members),
                        None,
                        "each window is final once"
                    );
                }
                Op::Late => self.late_rows.push((place.0, place.1, members)),
                Op::Delete => panic!("sliding windows are not deleted"),
            }
            Ok(())
        }
    }
}

/// The windows of records that no window refused, by the text of the rules: for each record the
/// window that ends at it (early: the one at 0), and the one that starts after it where it holds a
/// record.
fn oracle_closed_form(difference: i64, unit: i64, events: &[Event]) -> Table {
    let floor = |n: usize| events[n].1.div_euclid(unit) * unit;
    let within = |key: u8, side: bool, start: i64| -> Vec<usize> {
        let mine = (0..events.len()).filter(|&n| events[n].0 == key && (floor(n) < 0) == side);
        mine.filter(|&n| start <= floor(n) && floor(n) <= start + difference)
            .collect()
    };
    let mut table = Table::new();
    for (n, &(key, _)) in events.iter().enumerate() {
        let (time, side) = (floor(n), floor(n) < 0);
        let left = if !side && time < difference {
            0
        } else {
            time - difference
        };
        for start in [left, time + unit] {
            let members = within(key, side, start);
            if !members.is_empty() {
                table.insert((key, start), members);
            }
        }
    }
    table
}

fn events(reach: i64) -> impl Strategy<Value = Vec<Event>> {
    let step = prop_oneof![8 => -8..9_i64, 1 => 15..50_i64, 1 => -40..-10_i64];
    (-reach..reach, prop::collection::vec((0..2_u8, step), 0..40)).prop_map(|(mut time, steps)| {
        steps
            .into_iter()
            .map(|(key, step)| {
                time += step;
                (key, time)
            })
            .collect()
    })
}

/// The rule at another resolution.
pub(crate) fn at(resolution: u64, rule: SlidingWindows) -> SlidingWindows {
    SlidingWindows {
        sliding: Sliding {
            resolution: Span(resolution),
            ..rule.sliding
        },
        ..rule
    }
}

pub(crate) fn rule(difference: i64, grace: i64, emit: Emit) -> SlidingWindows {
    SlidingWindows {
        emit,
        ..SlidingWindows::with_difference(Span(difference as u64), Some(Span(grace as u64)))
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn without_refusals_windows_have_the_closed_form(
        events in events(60), difference in 1..8_i64, unit in 1..4_i64, grace in prop::option::of(Just(600_i64)),
    ) {
        let grace = grace.map(|grace| Span((grace * unit) as u64));
        let rule = at(unit as u64, SlidingWindows { grace, ..rule(difference * unit, 0, Emit::Close) });
        let expected = oracle_closed_form(difference * unit, unit, &events);
        prop_assert_eq!(Answers::of(rule, &events).finals, expected.clone());
        prop_assert_eq!(Answers::of(SlidingWindows { emit: Emit::Update, ..rule }, &events).table, expected);
    }

    #[test]
    fn records_within_the_grace_are_never_refused(events in events(30), difference in 1..12_i64, grace in 0..15_i64) {
        let mut largest = i64::MIN;
        let kept: Vec<Event> = events.into_iter().filter(|&(_, time)| { largest = largest.max(time); time >= largest - grace }).collect();
        let run = Answers::of(rule(difference, grace, Emit::Close), &kept);
        prop_assert_eq!(run.refused, 0);
        prop_assert_eq!(run.finals, oracle_closed_form(difference, 1, &kept));
    }

    #[test]
    fn differential_without_refusals_all_records_are_joined(
        events in events(30), difference in 1..12_i64, unit in 1..4_i64, sizes in 1..20_usize,
    ) {
        let rule = at(unit as u64, rule(difference * unit, 900 * unit, Emit::Close));
        let (mut alone, mut joined) = (SlidingOperator::new(rule, 1).unwrap(), SlidingOperator::new(rule, 1).unwrap());
        let (mut of_alone, mut of_joined) = (Members::default(), Members::default());
        for (number, event) in events.iter().enumerate() {
            alone.push(record(number, event), &mut of_alone, &mut |_: &[u8], _: WindowChange, _: &mut Members| Ok(())).unwrap();
        }
        for chunk in events.chunks(sizes) {
            for name in [0_u8, 1] {
                let mine = chunk.iter().zip(0..).filter(|((key, _), _)| *key == name);
                let mut records: Vec<(Time, u32)> = mine.map(|(&(_, time), row)| (Time(time), row)).collect();
                records.sort_unstable();
                let key = joined.store_mut().intern(&[name]).unwrap();
                let joins = joined.join(key, &records, false, 0, &mut of_joined, &mut Vec::new()).unwrap();
                prop_assert!(joins || records.is_empty());
            }
        }
        let stored = |slides: &SlidingOperator| slides.store().fetch_range((None, None), Time::MIN, Time::MAX).map(|(name, entry)| (name[0], entry.start, entry.largest)).collect::<Vec<_>>();
        prop_assert_eq!(stored(&joined), stored(&alone));
    }

    #[test]
    fn differential_after_refusals_joined_records_make_the_same_windows(
        events in events(30), difference in 1..12_i64, grace in 0..10_i64, sizes in 1..6_usize,
    ) {
        let events: Vec<Event> = events.into_iter().map(|(_, time)| (0, time)).collect();
        let rule = rule(difference, grace, Emit::Close);
        let (mut alone, mut joined) = (SlidingOperator::new(rule, 1).unwrap(), SlidingOperator::new(rule, 1).unwrap());
        let (mut of_alone, mut of_joined) = (Members::default(), Members::default());
        let ignore = &mut |_: &[u8], _: WindowChange, _: &mut Members| Ok(());
        for (from, chunk) in (0..).step_by(sizes).zip(events.chunks(sizes)) {
            let mut admitted = Vec::new();
            for (number, event) in (from..).zip(chunk) {
                alone.push(record(number, event), &mut of_alone, ignore).unwrap();
                let record = record(number, event);
                admitted.push((record, joined.admit(&record)));
            }
            let mut records: Vec<(Time, u32)> = admitted.iter().map(|(record, _)| (record.extent.start, record.row as u32)).collect();
            records.sort_unstable();
            let key = joined.store_mut().intern(&[0]).unwrap();
            let behind = admitted.iter().any(|(record, now)| now.is_behind(record.extent.start));
            let mut pending = Vec::new();
            let is_joined = !behind && joined.join(key, &records, false, 0, &mut of_joined, &mut pending).unwrap();
            for merge in &pending {
                for &(time, row) in &records[merge.span.from as usize..merge.span.to as usize] {
                    of_joined.update(merge.into, row as usize, Window { start: time, end: time }).unwrap();
                }
            }
            if !is_joined {
                for (record, now) in admitted {
                    joined.close(now, &mut of_joined, ignore).unwrap();
                    joined.add(record, now, &mut of_joined, ignore).unwrap();
                }
            }
            joined.close(joined.time().slowest(), &mut of_joined, ignore).unwrap();
            let stored = |slides: &SlidingOperator, of: &Members| slides.store().fetch_range((None, None), Time::MIN, Time::MAX).map(|(_, entry)| (entry.start, entry.largest, of.of(entry.slot))).collect::<Vec<_>>();
            prop_assert_eq!(stored(&joined, &of_joined), stored(&alone, &of_alone));
            prop_assert_eq!(joined.counters(), alone.counters());
        }
    }

    #[test]
    fn with_refusals_no_window_holds_what_it_refused(events in events(30), difference in 1..12_i64, grace in 0..10_i64) {
        let run = Answers::of(rule(difference, grace, Emit::Close), &events);
        let update = Answers::of(rule(difference, grace, Emit::Update), &events);
        prop_assert_eq!(&run.finals, &update.table, "the last updates are the finals");
        prop_assert_eq!(&run.outcomes, &update.outcomes);
        let mut largest = i64::MIN;
        let close: Vec<i64> = events.iter().map(|&(_, time)| { largest = largest.max(time); largest - grace }).collect();
        for (&(key, start), members) in &run.finals {
            prop_assert!(!members.is_empty());
            prop_assert_eq!(members.iter().collect::<BTreeSet<_>>().len(), members.len(), "no record twice");
            for &n in members {
                let (other, time) = events[n];
                prop_assert_eq!(other, key);
                prop_assert!(time <= start + difference && (start < 0) == (time < 0));
                // Kafka's copies trust that whoever made a window made its neighbours too; after a
                // refusal they may carry a record that is older than the window (recorded:
                // rand3-272).
                prop_assert!(start <= time || run.refused > 0);
                prop_assert!(start + difference >= close[n], "the window was open");
            }
        }
        for (n, &(key, time)) in events.iter().enumerate() {
            let late = time + difference < close[n];
            prop_assert_eq!(matches!(run.outcomes[n], RecordOutcome::Late(_)), late);
            let own = if (0..difference).contains(&time) { 0 } else { time - difference };
            let expected = if late {
                RecordOutcome::Late(Span((close[n] - time - difference) as u64))
            } else if run.finals.values().any(|members| members.contains(&n)) {
                RecordOutcome::Accepted
            } else {
                RecordOutcome::Refused(Span((close[n] - own - difference) as u64))
            };
            prop_assert_eq!(run.outcomes[n], expected, "a record is in a window, or it is known at once that it never is");
            if own + difference >= close[n] {
                prop_assert!(run.finals[&(key, own)].contains(&n), "a record is in its own window when that is open");
            }
        }
    }

    #[test]
    fn a_record_refused_by_its_own_window_may_leave_alone(events in events(30), difference in 1..12_i64, grace in 0..10_i64) {
        let run = Answers::of(SlidingWindows { late: Late::Emit, ..rule(difference, grace, Emit::Close) }, &events);
        let mut largest = i64::MIN;
        let mut expected = Vec::new();
        for (n, &(key, time)) in events.iter().enumerate() {
            largest = largest.max(time);
            let own = if (0..difference).contains(&time) { 0 } else { time - difference };
            if own + difference < largest - grace {
                expected.push((key, own, vec![n]));
            }
        }
        prop_assert_eq!(&run.late_rows, &expected);
        prop_assert_eq!(run.finals, Answers::of(rule(difference, grace, Emit::Close), &events).finals);
    }

    #[test]
    fn until_changes_nothing(events in events(30), difference in 1..12_i64, grace in 0..10_i64) {
        let plain = Answers::of(rule(difference, grace, Emit::Close), &events);
        let kept = Answers::of(SlidingWindows { until: Some(Span(100_000)), ..rule(difference, grace, Emit::Close) }, &events);
        prop_assert_eq!(plain.finals, kept.finals);
        prop_assert_eq!(plain.refused, kept.refused);
    }

    #[test]
    fn finals_of_a_key_depend_on_stream_time_only(events in events(30), difference in 1..12_i64, grace in 0..10_i64) {
        let whole = Answers::of(rule(difference, grace, Emit::Close), &events);
        let mut slides = SlidingOperator::new(rule(difference, grace, Emit::Close), 1).unwrap();
        let (mut states, mut run) = (Members::default(), Answers::default());
        for (number, event) in events.iter().enumerate() {
            let mut out = run.sink(&events);
            if event.0 == 0 {
                slides.push(record(number, event), &mut states, &mut out).unwrap();
            } else {
                slides.tick(Some(0), Some(Source(0)), Some(Time(event.1)), &mut states, &mut out).unwrap();
            }
        }
        slides.finish(&mut states, &mut run.sink(&events)).unwrap();
        let expected: Table = whole.finals.into_iter().filter(|((key, _), _)| *key == 0).collect();
        prop_assert_eq!(run.finals, expected);
    }

    #[test]
    fn nothing_makes_it_panic(
        events in prop::collection::vec((0..4_u8, any_time(), 0..3_usize, 0..3_u32, 0..8_u8), 0..40),
        difference in any_span(), unit in prop_oneof![Just(Span(1)), any_span()], factors in (0..3_u64, 1..4_u64),
        grace in prop::option::of(any_span()), until in prop::option::of(any_span()), update in any::<bool>(), late in any::<bool>(),
    ) {
        // Multiples where they fit, anything else too: then the rule is refused.
        let grace = grace.map(|grace| unit.saturating_mul(factors.0).max(if unit == Span(1) { grace } else { Span(0) }));
        let difference = if unit == Span(1) { difference } else { unit.saturating_mul(factors.1) };
        let emit = if update { Emit::Update } else { Emit::Close };
        let late = if late { Late::Emit } else { Late::Drop };
        let Ok(mut slides) = SlidingOperator::new(SlidingWindows { sliding: Sliding { difference, resolution: unit }, grace, until, emit, late, returns_records: false }, 2) else { return Ok(()) };
        let mut states = Members::default();
        let mut out = |_: &[u8], _: WindowChange, _: &mut Members| Ok(());
        for (number, (key, time, input, source, kind)) in events.iter().enumerate() {
            let done = match kind {
                0 => slides.tick(Some(*input), Some(Source(*source)), Some(Time(*time)), &mut states, &mut out),
                1 => slides.tick(Some(*input), None, Some(Time(*time)), &mut states, &mut out),
                _ => {
                    let event = (*key, *time);
                    let record = Record { input: *input, source: Source(*source), ..record(number, &event) };
                    slides.push(record, &mut states, &mut out).map(drop)
                }
            };
            // A window that would start before the earliest time is an error, not a wrong window.
            if done.is_err() {
                prop_assert!(*time < 0);
            }
            prop_assert_eq!(states.used(), slides.store().len());
        }
    }
}
