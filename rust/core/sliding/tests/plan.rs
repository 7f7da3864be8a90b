//! Sliding windows against the rule taken literally (rules 4.2), on unbounded integers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::batch::row_buffer::{RowBuffer, WindowBatch};
use crate::core::aggregate::RowSpan;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sliding::plan::{Ends, Sliding};
use crate::core::time::{Span, Time};
use crate::core::window::Window;
use proptest::prelude::*;

use crate::core::aggregate::tests::trial::Random;

/// Sliding windows with a difference of 10.
const OF_TEN: Sliding = Sliding {
    difference: Span(10),
    resolution: Span(1),
};

/// Windows by start and end, with the ascending times of their records.
pub(crate) type Windows = BTreeMap<(i128, i128), Vec<i128>>;

/// The windows of the times of one key: every record's left window, and its right window where that
/// holds a record.
pub(crate) fn oracle_windows(times: &[i128], difference: i128, resolution: i128) -> Windows {
    let floor = |time: i128| time - time.rem_euclid(resolution);
    let mut windows = Windows::new();
    for early in [false, true] {
        // Windows do not cross 1970: the two sides are independent.
        let mut times: Vec<i128> = times
            .iter()
            .copied()
            .filter(|&time| (floor(time) >= 0) == early)
            .collect();
        times.sort_unstable();
        let within = |start: i128| {
            let end = start + difference;
            (
                (start, end),
                times
                    .iter()
                    .copied()
                    .filter(|&time| (start..=end).contains(&floor(time)))
                    .collect::<Vec<_>>(),
            )
        };
        for time in times.iter().copied().map(floor).collect::<BTreeSet<_>>() {
            let (left, right) = (
                within(if early {
                    (time - difference).max(0)
                } else {
                    time - difference
                }),
                within(time + resolution),
            );
            windows.extend([left]);
            windows.extend((!right.1.is_empty()).then_some(right));
        }
    }
    windows
}

fn is_time(bound: i128) -> bool {
    i64::try_from(bound).is_ok()
}

/// The windows, or the record whose window is beyond time.
fn planned(times: &[Time], sliding: Sliding, ends: Ends) -> Result<Windows, Time> {
    let mut found: Vec<(Window, RowSpan)> = Vec::new();
    let first = 1000;
    let plan = sliding.plan(times, first, ends, |window, run| {
        found.push((window, run));
        Ok(())
    });
    plan.map_err(|error| match error {
        Error::TimeOverflow { ticks } => Time(ticks),
        other => panic!("{other}"),
    })?;
    assert!(
        found.is_sorted_by(|left, right| left.0.start < right.0.start),
        "windows ascend, each once"
    );
    let runs_ascend = |pair: &[(Window, RowSpan)]| {
        pair[0].1.from <= pair[1].1.from && pair[0].1.to <= pair[1].1.to
    };
    assert!(
        found.windows(2).all(runs_ascend),
        "runs never go back: {found:?}"
    );
    let held = |run: RowSpan| {
        times[(run.from - first) as usize..(run.to - first) as usize]
            .iter()
            .map(|time| i128::from(time.0))
            .collect()
    };
    Ok(found
        .into_iter()
        .map(|(window, run)| ((window.start.0.into(), window.end.0.into()), held(run)))
        .collect())
}

/// A resolution, a difference that is a multiple of it, and times; some at the ends of time.
fn trial() -> impl Strategy<Value = (Sliding, Vec<i64>)> {
    let length = prop_oneof![8 => 1..12_u64, 1 => Just(1_u64 << 40), 1 => Just(i64::MAX as u64)];
    let time =
        prop_oneof![30 => -60..90_i64, 1 => i64::MIN..i64::MIN + 40, 1 => i64::MAX - 40..=i64::MAX];
    (
        prop::sample::select(vec![1_u64, 2, 5, 7]),
        length,
        prop::collection::vec(time, 0..25),
    )
        .prop_map(|(resolution, length, times)| {
            let difference = (length.min(i64::MAX as u64 / resolution)) * resolution;
            (
                Sliding {
                    difference: Span(difference),
                    resolution: Span(resolution),
                },
                times,
            )
        })
}

fn wide(span: Span) -> i128 {
    span.0.into()
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(2000))]

    #[test]
    fn oracle_a_plan_is_the_rule_or_names_a_record_whose_window_is_beyond_time((sliding, times) in trial()) {
        let mut floored: Vec<Time> = times.iter().filter_map(|&time| Time(time).floor(sliding.resolution)).collect();
        floored.sort_unstable();
        let floored_times: Vec<i128> = floored.iter().map(|time| time.0.into()).collect();
        let expected = oracle_windows(&floored_times, wide(sliding.difference), wide(sliding.resolution));
        let representable = expected.keys().all(|&(start, end)| is_time(start) && is_time(end));
        match planned(&floored, sliding, Ends::ALL) {
            Ok(windows) => prop_assert_eq!(windows, expected),
            Err(time) => {
                prop_assert!(!representable, "all windows are representable");
                prop_assert!(floored.contains(&time), "{time:?} is no record");
            }
        }
    }

    /// Records come in order of time but for some that come too early; what ends before the
    /// frontier leaves.
    #[test]
    fn differential_windows_that_leave_early_are_those_of_one_plan(
        (sliding, times) in trial(),
        mut frontiers in prop::collection::vec(-80..110_i64, 0..6),
        keys in 1..4_usize,
        seed: u64,
    ) {
        // Windows at the ends of time are another test's.
        prop_assume!(sliding.difference < Span(1 << 50));
        let mut random = Random(seed);
        let mut records: Vec<(u32, i64, u64)> =
            times.iter().filter(|time| time.unsigned_abs() < 1 << 20).map(|&time| (random.below(keys) as u32, time, 0)).collect();
        (0..).zip(&mut records).for_each(|(seq_no, record)| record.2 = seq_no);
        frontiers.sort_unstable();

        let mut held = RowBuffer::new(Vec::new());
        let mut from = Time::MIN;
        let mut left: Vec<(u32, (i128, i128), Vec<i128>)> = Vec::new();
        for frontier in frontiers.into_iter().map(Some).chain([None]) {
            let (come, later) = records.iter().partition(|record| frontier.is_none_or(|frontier| record.1 < frontier) || random.below(4) == 0);
            records = later;
            let come: Vec<(u32, i64, u64)> = come;
            let keys: Vec<KeyId> = come.iter().map(|record| KeyId(record.0)).collect();
            let times: Vec<Time> = come.iter().map(|record| Time(record.1)).collect();
            let seq_nos: Vec<u64> = come.iter().map(|record| record.2).collect();
            held.push(sliding, &keys, &times, &seq_nos, &[]).unwrap();
            held.sort(&Interrupt::never()).unwrap();
            prop_assert!(held.keys().iter().zip(held.times()).zip(held.seq_nos()).is_sorted(), "by key, time and arrival");

            let until = frontier.map(|frontier| Time(frontier).floor(sliding.resolution).unwrap());
            for planned in held.plan(sliding, Ends { from, until }, None, &Interrupt::never()) {
                let planned = planned.unwrap();
                for ((key, window), run) in planned.keys.iter().zip(&planned.windows).zip(&planned.spans) {
                    let rows = run.from as usize..run.to as usize;
                    prop_assert!(held.keys()[rows.clone()].iter().all(|other| other == key));
                    let times = held.times()[rows].iter().map(|time| time.0.into()).collect();
                    left.push((key.0, (window.start.0.into(), window.end.0.into()), times));
                }
            }
            if let Some(until) = until {
                held.release(sliding.horizon(until), &Interrupt::never()).unwrap();
                from = until;
            }
        }
        left.sort();

        let mut random = Random(seed);
        let mut of_key = vec![Vec::new(); keys];
        times.iter().filter(|time| time.unsigned_abs() < 1 << 20).for_each(|&time| of_key[random.below(keys)].push(i128::from(time)));
        let mut expected = Vec::new();
        for (key, times) in (0..).zip(&of_key) {
            let windows = oracle_windows(times, wide(sliding.difference), wide(sliding.resolution));
            expected.extend(windows.into_iter().map(|(window, times)| (key, window, times)));
        }
        prop_assert_eq!(left, expected);
    }
}

#[test]
fn bounds_one_below_on_and_above_the_ends_of_time() {
    let sliding = OF_TEN;
    //   left window of the earliest time that has one: [MIN, MIN + 10]
    for (time, allowed) in [
        (i64::MIN + 9, false),
        (i64::MIN + 10, true),
        (i64::MIN + 11, true),
    ] {
        let got = planned(&[Time(time)], sliding, Ends::ALL);
        assert_eq!(
            got.map(|windows| windows.len()),
            if allowed { Ok(1) } else { Err(Time(time)) }
        );
    }
    //   right window of the record before the last: [t + 1, t + 11], where it holds the last
    for (time, allowed) in [
        (i64::MAX - 12, true),
        (i64::MAX - 11, true),
        (i64::MAX - 10, false),
    ] {
        let got = planned(&[Time(time), Time(time + 2)], sliding, Ends::ALL);
        assert_eq!(
            got.map(|windows| windows.len()),
            if allowed { Ok(3) } else { Err(Time(time)) }
        );
    }
    //   without a record in it there is no right window, and no window beyond time
    assert_eq!(
        planned(&[Time(i64::MAX)], sliding, Ends::ALL).map(|windows| windows.len()),
        Ok(1)
    );
}

#[test]
fn the_windows_of_kip_450() {
    //   records 16, 20, 29 (d = 10): left [6,16] [10,20] [19,29], right of 16 [17,27] and of 20
    //   [21,31]
    let times = [Time(16), Time(20), Time(29)];
    let windows = planned(&times, OF_TEN, Ends::ALL).unwrap();
    assert_eq!(
        windows.into_keys().collect::<Vec<_>>(),
        [(6, 16), (10, 20), (17, 27), (19, 29), (21, 31)]
    );
}

#[test]
fn early_windows_start_in_1970_and_nothing_crosses_it() {
    //   -3      | 4    10     11         d = 10: 4 and 10 share [0,10]; -3 has [-13,-3] alone
    let times = [-3, 4, 10, 11].map(Time);
    let windows = planned(&times, OF_TEN, Ends::ALL).unwrap();
    let expected = [
        ((-13, -3), vec![-3]),
        ((0, 10), vec![4, 10]),
        ((1, 11), vec![4, 10, 11]),
        ((5, 15), vec![10, 11]),
        ((11, 21), vec![11]),
    ];
    assert_eq!(windows.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn windows_of_one_key_come_in_pieces() {
    //   windows of    1  2  2  5  1  rows
    let runs = [(0, 1), (0, 2), (1, 3), (1, 6), (5, 6)].map(|(from, to)| RowSpan { from, to });
    let windows = [0, 1, 2, 3, 4].map(|start| Window {
        start: Time(start),
        end: Time(start + 9),
    });
    let planned = WindowBatch {
        keys: vec![KeyId(0); 5],
        windows: windows.to_vec(),
        spans: runs.to_vec(),
        at_end: Vec::new(),
        frames: Vec::new(),
    };
    let pieces = |windows, rows| {
        let pieces: Vec<_> = planned.pieces(windows, rows).collect();
        assert_eq!(
            pieces.iter().cloned().flatten().collect::<Vec<_>>(),
            [0, 1, 2, 3, 4]
        );
        pieces.iter().map(Range::len).collect::<Vec<_>>()
    };
    assert_eq!(pieces(10, 100), [5]);
    assert_eq!(pieces(2, 100), [2, 2, 1]);
    assert_eq!(
        pieces(10, 3),
        [2, 1, 1, 1],
        "one that is too large comes alone"
    );
    assert_eq!(pieces(10, 4), [2, 1, 1, 1]);
    assert_eq!(pieces(10, 5), [3, 1, 1]);
    assert_eq!(planned.widest(), 5);
    assert_eq!(
        (
            WindowBatch::default().pieces(10, 5).count(),
            WindowBatch::default().widest()
        ),
        (0, 0)
    );
}

proptest! {
    /// Every time has the window that ends at it, of the rows within, and each row is at one end.
    #[test]
    fn windows_that_end_at_records_hold_what_is_within((sliding, times) in trial()) {
        let floor = |time: i64| Time(time).floor(sliding.resolution);
        let mut floored: Vec<Time> = times.iter().filter_map(|&time| floor(time)).collect();
        floored.sort_unstable();
        let first = 1000;
        let mut at_ends = Vec::new();
        let plan = sliding.plan_ends(&floored, first, Ends::ALL, |window, run, at_end| {
            let rows = |run: RowSpan| (run.from - first) as usize..(run.to - first) as usize;
            let held = floored.iter().filter(|&&time| window.start <= time && time <= window.end);
            assert_eq!(floored[rows(run)].iter().collect::<Vec<_>>(), held.collect::<Vec<_>>());
            assert!(floored[rows(at_end)].iter().all(|&time| time == window.end));
            assert_eq!(Some(window.start), window.end.checked_sub(sliding.difference));
            at_ends.extend(rows(at_end));
            Ok(())
        });
        let earliest = floored.first().and_then(|time| time.checked_sub(sliding.difference));
        prop_assert_eq!(plan.is_ok(), floored.is_empty() || earliest.is_some());
        if plan.is_ok() {
            prop_assert_eq!(at_ends, (0..floored.len()).collect::<Vec<_>>());
        }
    }
}
