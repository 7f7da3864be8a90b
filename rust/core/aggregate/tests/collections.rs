//! `collect_list` and `collect_set` against plain lists.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::column;
use crate::core::aggregate::functions::collect_list::CollectList;
use crate::core::aggregate::functions::collect_set::CollectSet;
use crate::core::aggregate::scalar::Scalar;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{
    Cell, Event, KINDS, Kind, Trial, order, same, trial, trial_of,
};

fn list(kind: Kind) -> Box<dyn Aggregate> {
    list_of(kind, false)
}

fn list_of(kind: Kind, keep_nulls: bool) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(CollectList::<i64>::new(keep_nulls)),
        Kind::Float => Box::new(CollectList::<f64>::new(keep_nulls)),
        Kind::Wide => Box::new(CollectList::<i128>::new(keep_nulls)),
        Kind::Bytes => Box::new(CollectList::<Box<[u8]>>::new(keep_nulls)),
    }
}

fn set(kind: Kind) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(CollectSet::<i64>::default()),
        Kind::Float => Box::new(CollectSet::<f64>::default()),
        Kind::Wide => Box::new(CollectSet::<i128>::default()),
        Kind::Bytes => Box::new(CollectSet::<Box<[u8]>>::default()),
    }
}

fn values(rows: &[&Event]) -> Vec<Cell> {
    rows.iter()
        .map(|row| row.cells[0].clone())
        .filter(|cell| !matches!(cell, Cell::Null))
        .collect()
}

/// Ascending, each value once; -0.0 is written as 0.0.
fn distinct(rows: &[&Event]) -> Expected {
    let mut distinct: Vec<Cell> = Vec::new();
    for cell in values(rows) {
        let cell = if matches!(cell, Cell::Float(value) if value == 0.0) {
            Cell::Float(0.0)
        } else {
            cell
        };
        if !distinct.iter().any(|held| order(held, &cell).is_eq()) {
            distinct.push(cell);
        }
    }
    distinct.sort_by(order);
    Some(Cell::List(distinct))
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn a_list_holds_all_values_by_time_and_arrival((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]])))) {
        obeys(list(kind).as_ref(), &trial, |rows| Some(Cell::List(values(rows))), same);
        let all = |rows: &[&Event]| Some(Cell::List(rows.iter().map(|row| row.cells[0].clone()).collect()));
        obeys(list_of(kind, true).as_ref(), &trial, all, same);
    }

    #[test]
    fn a_set_holds_each_value_once_in_order((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]])))) {
        obeys(set(kind).as_ref(), &trial, distinct, same);
    }

    #[test]
    fn a_set_may_hold_many_values(trial in trial_of(vec![(Kind::Int, (0..25_i64).prop_map(Cell::Int).boxed())])) {
        obeys(set(Kind::Int).as_ref(), &trial, distinct, same);
    }
}

#[test]
fn every_nan_of_a_set_is_the_same_nan() {
    let cells = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    let event = |&value: &f64| Event {
        key: 0,
        time: 0,
        seq_no: 0,
        cells: vec![Cell::Float(value)],
    };
    let events: Vec<Event> = cells.iter().map(event).collect();
    let trial = Trial {
        kinds: vec![Kind::Float],
        events,
        seed: 0,
    };
    obeys(set(Kind::Float).as_ref(), &trial, distinct, same);
}

#[test]
fn a_list_whose_times_or_arrivals_are_too_few_is_an_error() {
    let column = |len: i64| column::list(vec![0, len], i64::dense([7, 8]));
    let load = |lens: [i64; 3]| list(Kind::Int).load(&lens.map(column)).is_ok();
    assert!(load([2, 2, 2]));
    assert!(!load([1, 2, 2]));
    assert!(!load([2, 1, 2]));
    assert!(!load([2, 2, 1]));
}
