//! `active_time` and `active_runs` against plain searches.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::column::{Lists, list};
use crate::core::aggregate::function::Breaks;
use crate::core::aggregate::functions::active_time::{
    Active, ActiveMeasure, ActiveOptions, ActiveState,
};
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::state::State;
use crate::core::time::{Span, Time};
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, Input, cells, same, trial};

fn active(limit: u64, measure: ActiveMeasure) -> Box<dyn Aggregate> {
    let limit = Span(limit);
    Box::new(Active::new(ActiveOptions { limit, measure }))
}

/// The distances of neighbours, one by one.
fn answer(times: &[i64], limit: u64, measure: ActiveMeasure) -> Expected {
    let distances = times
        .windows(2)
        .map(|pair| i128::from(pair[1]) - i128::from(pair[0]));
    let limit = i128::from(limit);
    let result = match measure {
        ActiveMeasure::Runs if times.is_empty() => 0,
        ActiveMeasure::Runs => 1 + distances.filter(|&distance| distance > limit).count() as i128,
        ActiveMeasure::Length(Breaks::Cut) => distances.map(|distance| distance.min(limit)).sum(),
        ActiveMeasure::Length(Breaks::Drop) => {
            distances.filter(|&distance| distance <= limit).sum()
        }
    };
    i64::try_from(result).ok().map(Cell::Int)
}

fn measure() -> impl Strategy<Value = ActiveMeasure> {
    let lengths = [Breaks::Cut, Breaks::Drop].map(ActiveMeasure::Length);
    prop_oneof![
        Just(ActiveMeasure::Runs),
        Just(lengths[0]),
        Just(lengths[1])
    ]
}

fn limit() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..9_u64, 1 => Just(i64::MAX as u64), 1 => Just(i64::MAX as u64 - 1)]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn active_time_is_the_sum_of_the_distances_of_neighbours(
        trial in trial(&[]),
        limit in limit(),
        measure in measure(),
    ) {
        let oracle = |rows: &[&Event]| {
            let times: Vec<i64> = rows.iter().map(|row| row.time).collect();
            answer(&times, limit, measure)
        };
        obeys(active(limit, measure).as_ref(), &trial, oracle, same);
    }

    #[test]
    fn a_state_has_its_runs_in_order_however_its_rows_come(
        mut rows in prop::collection::vec((-300..300_i64, prop_oneof![3 => Just(0), 1 => 0..20_i64]), 0..400),
        limit in 0..5_u64,
        cut in 0..400_usize,
    ) {
        let (early, late) = rows.split_at(cut.min(rows.len()));
        let [mut state, other] = [early, late].map(|rows| state(rows, limit));
        state.merge(&other);
        let saved = ActiveState::save([&state].into_iter());
        let loaded = ActiveState::load(&saved).unwrap();
        rows.sort_unstable();
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (start, length) in rows {
            let end = start + length;
            match runs.last_mut() {
                Some(run) if start - run.1 <= limit as i64 => run.1 = run.1.max(end),
                _ => runs.push((start, end)),
            }
        }
        let expected: [Vec<Cell>; 2] = [
            runs.iter().map(|run| Cell::Int(run.0)).collect(),
            runs.iter().map(|run| Cell::Int(run.1)).collect(),
        ];
        for saved in [saved, ActiveState::save(loaded.iter())] {
            for (column, expected) in saved.iter().zip(&expected) {
                let got = cells(Lists::of(column).unwrap().elements);
                prop_assert!(same(&Cell::List(got), &Cell::List(expected.clone())));
            }
        }
    }
}

/// The state of rows with these starts and lengths.
fn state(rows: &[(i64, i64)], limit: u64) -> ActiveState {
    let options = ActiveOptions {
        limit: Span(limit),
        measure: ActiveMeasure::Runs,
    };
    let mut state = ActiveState::default();
    for (start, length) in rows {
        state.add(&options, (Time(*start), Time(start + length)));
    }
    state
}

#[test]
fn runs_join_if_they_are_at_most_the_limit_apart() {
    for (rows, expected) in [
        (vec![(0, 10), (14, 1)], vec![Cell::Int(0), Cell::Int(14)]),
        (vec![(0, 10), (13, 1)], vec![Cell::Int(0)]),
        (vec![(13, 1), (0, 10)], vec![Cell::Int(0)]),
        (vec![(0, 10), (2, 3), (13, 1)], vec![Cell::Int(0)]),
        (
            vec![(0, 0), (8, 0), (4, 1)],
            vec![Cell::Int(0), Cell::Int(4)],
        ),
        (vec![(0, 1), (8, 0), (4, 1)], vec![Cell::Int(0)]),
    ] {
        let saved = ActiveState::save([&state(&rows, 3)].into_iter());
        let got = cells(Lists::of(&saved[0]).unwrap().elements);
        assert!(same(&Cell::List(got), &Cell::List(expected)), "{rows:?}");
    }
}

fn add(states: &mut dyn Aggregate, times: &[i64]) {
    let event = |&time: &i64| Event {
        key: 0,
        time,
        seq_no: 0,
        cells: Vec::new(),
    };
    let events: Vec<Event> = times.iter().map(event).collect();
    let slots = vec![Slot(0); events.len()];
    states
        .update(&slots, Input::new(&[], &events).rows())
        .unwrap();
}

#[test]
fn a_length_beyond_the_last_tick_is_an_error() {
    for (measure, fits) in [
        (ActiveMeasure::Runs, true),
        (ActiveMeasure::Length(Breaks::Cut), false),
        (ActiveMeasure::Length(Breaks::Drop), false),
    ] {
        let mut states = active(u64::MAX, measure);
        states.resize(1);
        add(states.as_mut(), &[i64::MIN, 0, i64::MAX]);
        assert_eq!(states.lower(&[Slot(0)]).is_ok(), fits);
    }
}

#[test]
fn runs_that_no_state_has_are_an_error() {
    let states = active(5, ActiveMeasure::Runs);
    let ints = |values: &[i64]| i64::dense(values.to_vec());
    let list = |values: &[i64]| list(vec![0, values.len() as i64], ints(values));
    let load = |starts: &[i64], ends: &[i64], limit: i64| {
        states
            .load(&[list(starts), list(ends), ints(&[limit])])
            .is_ok()
    };
    assert!(load(&[], &[], 0));
    assert!(load(&[0, 8], &[2, 9], 5));
    assert!(!load(&[0, 7], &[2, 9], 5), "they touch");
    assert!(!load(&[8, 0], &[9, 2], 5), "the later one comes first");
    assert!(!load(&[0, 8], &[-1, 9], 5), "one ends before it starts");
    assert!(!load(&[0, 8], &[2], 5), "the lists differ in length");
    assert!(!load(&[0, 8], &[2, 9], -5), "the limit is negative");
}
