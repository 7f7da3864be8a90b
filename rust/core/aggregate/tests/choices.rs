//! `min`, `max`, `first`, `last`, `min_by` and `max_by` against a plain search.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::functions::first_last::FirstLast;
use crate::core::aggregate::functions::min_max::MinMax;
use crate::core::aggregate::functions::min_max_by::MinMaxBy;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, KINDS, Kind, order, same, trial};

fn extreme<const MAX: bool>(kind: Kind) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(MinMax::<i64, MAX>::default()),
        Kind::Float => Box::new(MinMax::<f64, MAX>::default()),
        Kind::Wide => Box::new(MinMax::<i128, MAX>::default()),
        Kind::Bytes => Box::new(MinMax::<Box<[u8]>, MAX>::default()),
    }
}

fn edge<const LAST: bool>(kind: Kind, ignore_nulls: bool) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(FirstLast::<i64, LAST>::new(ignore_nulls)),
        Kind::Float => Box::new(FirstLast::<f64, LAST>::new(ignore_nulls)),
        Kind::Wide => Box::new(FirstLast::<i128, LAST>::new(ignore_nulls)),
        Kind::Bytes => Box::new(FirstLast::<Box<[u8]>, LAST>::new(ignore_nulls)),
    }
}

fn by<const MAX: bool>(value: Kind, by: Kind) -> Box<dyn Aggregate> {
    match (value, by) {
        (Kind::Int, Kind::Int) => Box::new(MinMaxBy::<i64, i64, MAX>::default()),
        (Kind::Int, Kind::Float) => Box::new(MinMaxBy::<i64, f64, MAX>::default()),
        (Kind::Float, Kind::Bytes) => Box::new(MinMaxBy::<f64, Box<[u8]>, MAX>::default()),
        (Kind::Wide, Kind::Wide) => Box::new(MinMaxBy::<i128, i128, MAX>::default()),
        (Kind::Bytes, Kind::Int) => Box::new(MinMaxBy::<Box<[u8]>, i64, MAX>::default()),
        (Kind::Bytes, Kind::Bytes) => Box::new(MinMaxBy::<Box<[u8]>, Box<[u8]>, MAX>::default()),
        _ => panic!("{value:?} by {by:?} is not tried"),
    }
}

const PAIRS: [[Kind; 2]; 6] = [
    [Kind::Int, Kind::Int],
    [Kind::Int, Kind::Float],
    [Kind::Float, Kind::Bytes],
    [Kind::Wide, Kind::Wide],
    [Kind::Bytes, Kind::Int],
    [Kind::Bytes, Kind::Bytes],
];

/// Whether a value comes before another; of the zeros, -0.0 does.
fn below(left: &Cell, right: &Cell) -> bool {
    match (left, right) {
        (Cell::Float(left), Cell::Float(right)) if *left == 0.0 && *right == 0.0 => {
            left.is_sign_negative() && right.is_sign_positive()
        }
        _ => order(left, right).is_lt(),
    }
}

fn is_null(cell: &Cell) -> bool {
    matches!(cell, Cell::Null)
}

/// The value that no other one is below (or above).
fn end(rows: &[&Event], max: bool) -> Expected {
    let values: Vec<&Cell> = rows
        .iter()
        .map(|row| &row.cells[0])
        .filter(|cell| !is_null(cell))
        .collect();
    let best = values.iter().find(|&&one| {
        !values.iter().any(|&other| {
            if max {
                below(one, other)
            } else {
                below(other, one)
            }
        })
    });
    Some(best.map_or(Cell::Null, |&best| best.clone()))
}

/// The earliest row whose `by` no other one is below (or above).
fn value_by(rows: &[&Event], max: bool) -> Expected {
    let rows: Vec<&&Event> = rows.iter().filter(|row| !is_null(&row.cells[1])).collect();
    let beaten = |row: &Event| {
        rows.iter().any(|other| {
            if max {
                order(&other.cells[1], &row.cells[1]).is_gt()
            } else {
                order(&other.cells[1], &row.cells[1]).is_lt()
            }
        })
    };
    Some(
        rows.iter()
            .find(|row| !beaten(row))
            .map_or(Cell::Null, |row| row.cells[0].clone()),
    )
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn min_and_max_are_the_ends_of_the_values((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]])))) {
        obeys(extreme::<false>(kind).as_ref(), &trial, |rows| end(rows, false), same);
        obeys(extreme::<true>(kind).as_ref(), &trial, |rows| end(rows, true), same);
    }

    #[test]
    fn first_and_last_are_values_of_the_outermost_rows((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]])))) {
        let cell = |row: Option<&&Event>| Some(row.map_or(Cell::Null, |row| row.cells[0].clone()));
        obeys(edge::<false>(kind, false).as_ref(), &trial, |rows| cell(rows.first()), same);
        obeys(edge::<true>(kind, false).as_ref(), &trial, |rows| cell(rows.last()), same);
    }

    #[test]
    fn first_and_last_can_pass_over_nulls((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]])))) {
        let cell = |row: Option<&&Event>| Some(row.map_or(Cell::Null, |row| row.cells[0].clone()));
        obeys(edge::<false>(kind, true).as_ref(), &trial, |rows| cell(rows.iter().find(|row| !is_null(&row.cells[0]))), same);
        obeys(edge::<true>(kind, true).as_ref(), &trial, |rows| cell(rows.iter().rev().find(|row| !is_null(&row.cells[0]))), same);
    }

    #[test]
    fn min_by_and_max_by_take_the_earliest_of_equals((pair, trial) in (0..6_usize).prop_flat_map(|pair| (Just(PAIRS[pair]), trial(&PAIRS[pair])))) {
        obeys(by::<false>(pair[0], pair[1]).as_ref(), &trial, |rows| value_by(rows, false), same);
        obeys(by::<true>(pair[0], pair[1]).as_ref(), &trial, |rows| value_by(rows, true), same);
    }
}

#[test]
fn different_aggregates_do_not_merge() {
    let mut first = FirstLast::<i64, false>::new(false);
    assert!(
        first
            .merge(&[], &FirstLast::<f64, false>::new(false), &[])
            .is_err()
    );
    assert!(
        first
            .merge(&[], &MinMax::<i64, false>::default(), &[])
            .is_err()
    );
    assert!(
        first
            .merge(&[], &FirstLast::<i64, false>::new(true), &[])
            .is_ok()
    );
}
