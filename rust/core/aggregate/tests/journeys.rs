//! `funnel` and `path` against plain searches.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::column::{Column, Values};
use crate::core::aggregate::functions::funnel::{
    Conditions, Funnel, FunnelOptions, StepCriterion, StepValues,
};
use crate::core::aggregate::functions::path::Path;
use crate::core::aggregate::funnel_chains::FunnelRules;
use crate::core::aggregate::slot::Slot;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{
    Cell, Event, Input, KINDS, Kind, Trial, cells, order, same, trial, trial_of,
};

fn funnel(steps: usize, within: i64, strict: bool) -> Box<dyn Aggregate> {
    of_steps(Conditions, steps, within, strict)
}

fn of_steps(
    how: impl StepCriterion,
    steps: usize,
    within: i64,
    strict: bool,
) -> Box<dyn Aggregate> {
    let rules = FunnelRules {
        steps,
        within,
        strict,
    };
    Box::new(Funnel::new(FunnelOptions {
        rules,
        ties: false,
        steps: how,
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

/// The longest chain of rows that continues `chain`, by trying all.
fn longest(rows: &[StepRow], chain: &mut Vec<usize>, steps: usize, within: i64) -> usize {
    let mut best = chain.len();
    if best == steps {
        return best;
    }
    for (place, (time, fits)) in rows.iter().enumerate() {
        let is_next = fits.contains(&chain.len()) && !chain.contains(&place);
        let is_later = chain.last().is_none_or(|&last| rows[last].0 <= *time);
        let first = chain.first();
        let is_soon = first.is_none_or(|&first| is_in_time(rows[first].0, *time, within));
        if is_next && is_later && is_soon {
            chain.push(place);
            best = best.max(longest(rows, chain, steps, within));
            chain.pop();
        }
    }
    best
}

/// Every chain of rows by themselves, one row after the other, until a row ends the funnel.
fn strictly(rows: &[StepRow], within: i64) -> usize {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|(time, fits)| (*time, fits.first().map_or(0, |step| step + 1), mask(fits)));
    let mut chains: Vec<(i64, usize)> = Vec::new();
    let mut reached = 0;
    for (time, fits) in rows {
        if reached > 0 && !fits.iter().any(|&step| step <= reached) {
            break;
        }
        for (start, length) in chains.clone() {
            if fits.contains(&length) && is_in_time(start, time, within) {
                chains.push((start, length + 1));
            }
        }
        if fits.contains(&0) {
            chains.push((time, 1));
        }
        chains.sort_unstable();
        chains.dedup();
        reached = chains.iter().map(|chain| chain.1).max().unwrap_or(0);
    }
    reached
}

fn mask(fits: &[usize]) -> usize {
    fits.iter().map(|step| 1 << step).sum()
}

fn answer(rows: Vec<StepRow>, steps: usize, within: i64, strict: bool) -> Expected {
    let reached = if strict {
        strictly(&rows, within)
    } else {
        longest(&rows, &mut Vec::new(), steps, within)
    };
    Some(Cell::Int(reached as i64))
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

fn within() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..7_i64, 1 => Just(i64::MAX), 1 => Just(i64::MAX - 1)]
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn a_funnel_of_values_is_the_longest_chain(trial in one_step(3), within in within(), strict: bool) {
        let oracle = |rows: &[&Event]| {
            let step = |row: &&Event| match row.cells[0] {
                Cell::Int(value @ 1..=3) => vec![value as usize - 1],
                _ => Vec::new(),
            };
            answer(rows.iter().map(|row| (row.time, step(row))).collect(), 3, within, strict)
        };
        let aggregate = of_steps(StepValues(vec![1_i64, 2, 3]), 3, within, strict);
        obeys(aggregate.as_ref(), &trial, oracle, same);
    }

    #[test]
    fn a_funnel_of_conditions_is_the_longest_chain_of_distinct_rows(
        (steps, trial) in (1..4_usize).prop_flat_map(|steps| (Just(steps), some_steps(steps))),
        within in within(),
        strict: bool,
    ) {
        let oracle = |rows: &[&Event]| {
            answer(rows.iter().map(|row| (row.time, fitting(row))).collect(), steps, within, strict)
        };
        obeys(funnel(steps, within, strict).as_ref(), &trial, oracle, same);
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
fn a_complete_funnel_keeps_no_rows_unless_it_is_strict() {
    for (count, kinds, strict, kept, reached) in [
        (63, [1, 2], false, 63, 2),
        (64, [1, 2], false, 0, 2),
        (65, [1, 2], false, 0, 2),
        (64, [1, 1], false, 64, 1),
        (64, [1, 2], true, 64, 2),
    ] {
        let event = |place: usize| Event {
            key: 0,
            time: place as i64,
            seq_no: place as u64,
            cells: vec![Cell::Int(kinds[place % 2])],
        };
        let events: Vec<Event> = (0..count).map(event).collect();
        let mut states = of_steps(StepValues(vec![1_i64, 2]), 2, 5, strict);
        states.resize(2);
        let slots = vec![Slot(0); count];
        let input = Input::new(&[Kind::Int], &events);
        states.update(&slots, input.rows()).unwrap();
        let saved = states.save(&[Slot(0)]);
        assert_eq!(saved[0].lists().unwrap().elements.len(), kept);
        let loaded = states.load(&saved).unwrap();
        states
            .merge(&[Slot(1)], loaded.as_ref(), &[Slot(0)])
            .unwrap();
        let lowered = cells(&states.lower(&[Slot(0), Slot(1)]).unwrap());
        assert!(lowered.iter().all(|cell| same(cell, &Cell::Int(reached))));
    }
}

#[test]
fn the_lists_of_a_state_that_differ_are_an_error() {
    let states = of_steps(StepValues(vec![1_i64, 2]), 2, 5, false);
    let list = |len: i64| Column::list(vec![0, len], Column::new(Values::Int(vec![1, 2].into())));
    let flag = || Column::new(Values::Int(vec![0].into()));
    for ties in [0, 2] {
        let columns = [list(2), list(2), list(ties), flag()];
        assert!(states.load(&columns).is_ok());
    }
    let columns = [list(2), list(2), list(1), flag()];
    assert!(states.load(&columns).is_err());
    let columns = [list(2), list(1), list(0), flag()];
    assert!(states.load(&columns).is_err());
    let steps = Column::list(
        vec![0, 2],
        Column::new(Values::Int(vec![1, 1 << 32].into())),
    );
    assert!(states.load(&[list(2), steps, list(0), flag()]).is_err());
}
