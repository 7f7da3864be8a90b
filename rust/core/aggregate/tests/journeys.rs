//! `funnel`, `funnel_times` and `path` against plain searches.

use std::cmp::Reverse;

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::column::{self, Lists, list};
use crate::core::aggregate::functions::funnel::{Funnel, FunnelMeasure, FunnelOptions};
use crate::core::aggregate::functions::path::Path;
use crate::core::aggregate::funnel_chains::FunnelRules;
use crate::core::aggregate::funnel_steps::{Conditions, StepCriterion, StepValues};
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{
    Cell, Event, Input, KINDS, Kind, Trial, cells, order, same, trial, trial_of,
};

fn funnel(
    steps: impl StepCriterion,
    rules: FunnelRules,
    measure: FunnelMeasure,
) -> Box<dyn Aggregate> {
    Box::new(Funnel::new(FunnelOptions {
        rules,
        ties: false,
        steps,
        measure,
    }))
}

/// The steps that a row fits, by its cells.
fn fitting(row: &Event) -> Vec<usize> {
    let is_true = |&step: &usize| matches!(row.cells[step], Cell::Int(1));
    (0..row.cells.len()).filter(is_true).collect()
}

/// A row of a funnel: its time, and the steps that it fits.
type StepRow = (i64, Vec<usize>);

/// Whether this much time may pass; the largest number means any.
fn is_in_time(start: i64, time: i64, within: i64) -> bool {
    within == i64::MAX || i128::from(time) - i128::from(start) <= i128::from(within)
}

/// The times of each chain of rows that continues `chain`. With strict rules a chain takes rows in their order.
fn continued(rows: &[StepRow], chain: &[usize], rules: &FunnelRules, found: &mut Vec<Vec<i64>>) {
    found.push(chain.iter().map(|&place| rows[place].0).collect());
    if chain.len() == rules.steps {
        return;
    }
    for (place, (time, fits)) in rows.iter().enumerate() {
        let is_next = fits.contains(&chain.len()) && !chain.contains(&place);
        let is_after = |last: usize| match rules.strict {
            true => last < place,
            false => rows[last].0 <= *time,
        };
        let is_soon = |first: usize| is_in_time(rows[first].0, *time, rules.within);
        let follows = chain.last().is_none_or(|&last| is_after(last));
        if is_next && follows && chain.first().is_none_or(|&first| is_soon(first)) {
            continued(rows, &[chain, &[place]].concat(), rules, found);
        }
    }
}

/// The times of all chains of rows. A strict funnel ends at the first row that can be no step.
fn chains(mut rows: Vec<StepRow>, rules: &FunnelRules) -> Vec<Vec<i64>> {
    let first = |fits: &[usize]| fits.first().map_or(0, |step| step + 1);
    rows.sort_by_key(|(time, fits)| (*time, first(fits), mask(fits)));
    let mut found = Vec::new();
    for row in 0..rows.len() * usize::from(rules.strict) {
        let mut before = Vec::new();
        continued(&rows[..row], &[], rules, &mut before);
        let reached = before.iter().map(Vec::len).max().unwrap_or(0);
        if reached > 0 && !rows[row].1.iter().any(|&step| step <= reached) {
            return before;
        }
    }
    continued(&rows, &[], rules, &mut found);
    found
}

fn mask(fits: &[usize]) -> usize {
    fits.iter().map(|step| 1 << step).sum()
}

/// Of the longest chains the one that ends first, then the one that begins last, then the one with the earliest
/// steps.
fn answer(rows: Vec<StepRow>, rules: &FunnelRules, measure: FunnelMeasure) -> Expected {
    let chains = chains(rows, rules).into_iter();
    let rank = |times: &Vec<i64>| {
        let bounds = (times.last().copied(), Reverse(times.first().copied()));
        (Reverse(times.len()), bounds, times.clone())
    };
    let times = chains.min_by_key(rank).unwrap_or_default();
    Some(match measure {
        FunnelMeasure::Steps => Cell::Int(times.len() as i64),
        FunnelMeasure::Times => Cell::List(times.into_iter().map(Cell::Int).collect()),
    })
}

/// Rows that fit one of `steps` steps, or none.
fn one_step(steps: i64) -> impl Strategy<Value = Trial> {
    trial_of(vec![(Kind::Int, (0..=steps).prop_map(Cell::Int).boxed())])
}

/// Rows that may fit several steps.
fn some_steps(steps: usize) -> impl Strategy<Value = Trial> {
    let flag = || (0..2_i64).prop_map(Cell::Int).boxed();
    trial_of((0..steps).map(|_| (Kind::Int, flag())).collect())
}

fn rules(steps: usize) -> impl Strategy<Value = FunnelRules> {
    let within = prop_oneof![4 => 0..7_i64, 1 => Just(i64::MAX), 1 => Just(i64::MAX - 1)];
    (within, any::<bool>()).prop_map(move |(within, strict)| FunnelRules {
        steps,
        within,
        strict,
    })
}

fn measure() -> impl Strategy<Value = FunnelMeasure> {
    prop_oneof![Just(FunnelMeasure::Steps), Just(FunnelMeasure::Times)]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn a_funnel_of_values_is_the_longest_chain(trial in one_step(3), rules in rules(3), measure in measure()) {
        let oracle = |rows: &[&Event]| {
            let step = |row: &&Event| match row.cells[0] {
                Cell::Int(value @ 1..=3) => vec![value as usize - 1],
                _ => Vec::new(),
            };
            answer(rows.iter().map(|row| (row.time, step(row))).collect(), &rules, measure)
        };
        let aggregate = funnel(StepValues(vec![1_i64, 2, 3]), rules, measure);
        obeys(aggregate.as_ref(), &trial, oracle, same);
    }

    #[test]
    fn a_funnel_of_conditions_is_the_longest_chain_of_distinct_rows(
        (rules, trial) in (1..4_usize).prop_flat_map(|steps| (rules(steps), some_steps(steps))),
        measure in measure(),
    ) {
        let oracle = |rows: &[&Event]| {
            answer(rows.iter().map(|row| (row.time, fitting(row))).collect(), &rules, measure)
        };
        obeys(funnel(Conditions, rules, measure).as_ref(), &trial, oracle, same);
    }

    #[test]
    fn a_path_has_each_value_that_does_not_repeat_the_one_before(
        (kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]]))),
        most in prop_oneof![1..4_usize, Just(usize::MAX)],
    ) {
        let oracle = |rows: &[&Event]| {
            let mut path: Vec<Cell> = Vec::new();
            for row in rows.iter().filter(|row| !matches!(row.cells[0], Cell::Null)) {
                if path.last().is_none_or(|last| order(last, &row.cells[0]).is_ne()) {
                    path.push(row.cells[0].clone());
                }
            }
            path.truncate(most);
            Some(Cell::List(path))
        };
        let aggregate: Box<dyn Aggregate> = match kind {
            Kind::Int => Box::new(Path::<i64>::new(most)),
            Kind::Float => Box::new(Path::<f64>::new(most)),
            Kind::Wide => Box::new(Path::<i128>::new(most)),
            Kind::Bytes => Box::new(Path::<Box<[u8]>>::new(most)),
        };
        obeys(aggregate.as_ref(), &trial, oracle, same);
    }
}

#[test]
fn a_complete_funnel_keeps_no_rows_after_its_end_unless_it_is_strict() {
    use FunnelMeasure::{Steps, Times};
    for (count, kinds, strict, measure, kept) in [
        (63, [1, 2], false, Steps, 63),
        (64, [1, 2], false, Steps, 0),
        (65, [1, 2], false, Steps, 0),
        (64, [1, 1], false, Steps, 64),
        (64, [1, 2], true, Steps, 64),
        (63, [1, 2], false, Times, 63),
        (64, [1, 2], false, Times, 2),
        (65, [1, 2], false, Times, 3),
        (64, [1, 1], false, Times, 64),
        (64, [1, 2], true, Times, 64),
    ] {
        let event = |place: usize| Event {
            key: 0,
            time: place as i64,
            seq_no: place as u64,
            cells: vec![Cell::Int(kinds[place % 2])],
        };
        let events: Vec<Event> = (0..count).map(event).collect();
        let rules = FunnelRules {
            steps: 2,
            within: 5,
            strict,
        };
        let mut states = funnel(StepValues(vec![1_i64, 2]), rules, measure);
        states.resize(2);
        let slots = vec![Slot(0); count];
        let input = Input::new(&[Kind::Int], &events);
        states.update(&slots, input.rows()).unwrap();
        let saved = states.save(&[Slot(0)]);
        assert_eq!(Lists::of(&saved[0]).unwrap().elements.len(), kept);
        let loaded = states.load(&saved).unwrap();
        states
            .merge(&[Slot(1)], loaded.as_ref(), &[Slot(0)])
            .unwrap();
        let lowered = cells(&states.lower(&[Slot(0), Slot(1)]).unwrap());
        let steps = if kinds == [1, 1] { 1 } else { 2 };
        let expected = match measure {
            Steps => Cell::Int(steps),
            Times => Cell::List((0..steps).map(Cell::Int).collect()),
        };
        assert!(lowered.iter().all(|cell| same(cell, &expected)));
    }
}

#[test]
fn the_lists_of_a_state_that_differ_are_an_error() {
    let rules = FunnelRules {
        steps: 2,
        within: 5,
        strict: false,
    };
    let states = funnel(StepValues(vec![1_i64, 2]), rules, FunnelMeasure::Times);
    let list = |len: i64| list(vec![0, len], i64::dense([1, 2]));
    let flag = || i64::dense([0]);
    for ties in [0, 2] {
        let columns = [list(2), list(2), list(ties), flag()];
        assert!(states.load(&columns).is_ok());
    }
    let columns = [list(2), list(2), list(1), flag()];
    assert!(states.load(&columns).is_err());
    let columns = [list(2), list(1), list(0), flag()];
    assert!(states.load(&columns).is_err());
    let steps = column::list(vec![0, 2], i64::dense([1, 1 << 32]));
    assert!(states.load(&[list(2), steps, list(0), flag()]).is_err());
}
