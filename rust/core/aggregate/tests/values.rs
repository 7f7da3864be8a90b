//! `count_distinct`, `sum_distinct`, `percentile`, `median` and `mode` against sorted lists.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::column::list;
use crate::core::aggregate::composite::Composite;
use crate::core::aggregate::functions::count_distinct::CountDistinct;
use crate::core::aggregate::functions::mode::Mode;
use crate::core::aggregate::functions::percentile::{Percentile, Percentiles};
use crate::core::aggregate::functions::sum_distinct::SumDistinct;
use crate::core::aggregate::scalar::Scalar;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{alone, obeys};
use crate::core::aggregate::tests::trial::{
    Cell, Event, KINDS, Kind, near, order, same, trial, trial_of, value,
};

type Bytes = Box<[u8]>;

fn count_distinct(kind: Kind) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(CountDistinct::<i64>::default()),
        Kind::Float => Box::new(CountDistinct::<f64>::default()),
        Kind::Wide => Box::new(CountDistinct::<i128>::default()),
        Kind::Bytes => Box::new(CountDistinct::<Bytes>::default()),
    }
}

fn mode(kind: Kind) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(Mode::<i64>::default()),
        Kind::Float => Box::new(Mode::<f64>::default()),
        Kind::Wide => Box::new(Mode::<i128>::default()),
        Kind::Bytes => Box::new(Mode::<Bytes>::default()),
    }
}

fn percentile(kind: Kind, shares: &[f64], list: bool) -> Box<dyn Aggregate> {
    let options = Percentiles {
        shares: shares.to_vec(),
        list,
        scale: if kind == Kind::Wide { 100.0 } else { 1.0 },
    };
    match kind {
        Kind::Int => Box::new(Percentile::<i64>::new(options)),
        Kind::Float => Box::new(Percentile::<f64>::new(options)),
        _ => Box::new(Percentile::<i128>::new(options)),
    }
}

/// The values that are not null, ascending; -0.0 is 0.0.
fn sorted(rows: &[&Event], place: usize) -> Vec<Cell> {
    let cells = rows.iter().map(|row| &row.cells[place]);
    let mut values: Vec<Cell> = cells
        .filter(|cell| !matches!(cell, Cell::Null))
        .map(|cell| match cell {
            Cell::Float(value) if *value == 0.0 => Cell::Float(0.0),
            other => other.clone(),
        })
        .collect();
    values.sort_by(order);
    values
}

/// Each value once, with how often it is there.
pub(crate) fn counted(rows: &[&Event]) -> Vec<(Cell, usize)> {
    let values = sorted(rows, 0);
    let mut counted: Vec<(Cell, usize)> = Vec::new();
    for value in values {
        match counted.last_mut() {
            Some((last, count)) if order(last, &value).is_eq() => *count += 1,
            _ => counted.push((value, 1)),
        }
    }
    counted
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        Cell::Wide(value) => *value as f64 / 100.0,
        other => panic!("{other:?}"),
    }
}

/// Between the values at both sides of the place, in proportion.
fn at_share(values: &[Cell], share: f64) -> f64 {
    let place = share * (values.len() - 1) as f64;
    let (below, above) = (place.floor(), place.ceil());
    let (left, right) = (
        number(&values[below as usize]),
        number(&values[above as usize]),
    );
    if below == above || left == right {
        left
    } else {
        (above - place) * left + (place - below) * right
    }
}

fn near_lists(got: &Cell, expected: &Cell) -> bool {
    match (got, expected) {
        (Cell::List(got), Cell::List(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(got, one)| near(got, one))
        }
        _ => near(got, expected),
    }
}

/// Rows whose values repeat.
fn few(kind: Kind) -> BoxedStrategy<Cell> {
    match kind {
        Kind::Int => (0..4_i64).prop_map(Cell::Int).boxed(),
        Kind::Float => prop::sample::select(vec![0.0, -0.0, 1.5, f64::NAN, f64::INFINITY])
            .prop_map(Cell::Float)
            .boxed(),
        Kind::Wide => (0..4_i128).prop_map(Cell::Wide).boxed(),
        Kind::Bytes => prop::collection::vec(0..2_u8, 0..3)
            .prop_map(Cell::Bytes)
            .boxed(),
    }
}

pub(crate) fn any_or_few(kind: Kind) -> BoxedStrategy<Cell> {
    prop_oneof![few(kind), value(kind)].boxed()
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn distinct_values_are_counted_once((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial_of(vec![(KINDS[kind], any_or_few(KINDS[kind]))])))) {
        obeys(count_distinct(kind).as_ref(), &trial, |rows| Some(Cell::Int(counted(rows).len() as i64)), same);
    }

    #[test]
    fn distinct_rows_are_those_that_differ_in_a_column(trial in trial_of(vec![(Kind::Int, few(Kind::Int)), (Kind::Float, few(Kind::Float)), (Kind::Bytes, few(Kind::Bytes)), (Kind::Wide, few(Kind::Wide))])) {
        let oracle = |rows: &[&Event]| {
            let mut distinct: Vec<&Event> = Vec::new();
            for row in rows.iter().filter(|row| !row.cells.iter().any(|cell| matches!(cell, Cell::Null))) {
                let equal = |held: &&Event| held.cells.iter().zip(&row.cells).all(|(left, right)| order(left, right).is_eq());
                if !distinct.iter().any(equal) {
                    distinct.push(row);
                }
            }
            Some(Cell::Int(distinct.len() as i64))
        };
        obeys(&Composite::new(CountDistinct::<Bytes>::default()), &trial, oracle, same);
    }

    #[test]
    fn distinct_integers_are_summed_once(trial in trial_of(vec![(Kind::Int, any_or_few(Kind::Int))])) {
        let oracle = |rows: &[&Event]| {
            let distinct = counted(rows);
            if distinct.is_empty() {
                return Some(Cell::Null);
            }
            let sum = distinct.iter().map(|(cell, _)| if let Cell::Int(value) = cell { i128::from(*value) } else { panic!("{cell:?}") }).sum::<i128>();
            i64::try_from(sum).ok().map(Cell::Int)
        };
        obeys(&SumDistinct::<i64>::new(0), &trial, oracle, same);
    }

    #[test]
    fn distinct_floats_are_summed_once(trial in trial_of(vec![(Kind::Float, few(Kind::Float))])) {
        let oracle = |rows: &[&Event]| {
            let distinct = counted(rows);
            Some(if distinct.is_empty() { Cell::Null } else { Cell::Float(distinct.iter().map(|(cell, _)| number(cell)).sum()) })
        };
        obeys(&SumDistinct::<f64>::new(0), &trial, oracle, near);
    }

    #[test]
    fn percentiles_lie_between_the_values_at_their_place((kind, trial) in (0..3_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial_of(vec![(KINDS[kind], any_or_few(KINDS[kind]))]))), share in 0.0..=1.0) {
        let shares = [0.5, 0.0, 1.0, 0.25, share];
        let one = |rows: &[&Event]| {
            let values = sorted(rows, 0);
            Some(if values.is_empty() { Cell::Null } else { Cell::Float(at_share(&values, share)) })
        };
        obeys(percentile(kind, &[share], false).as_ref(), &trial, one, near);
        let some = |rows: &[&Event]| {
            let values = sorted(rows, 0);
            let each = |&share: &f64| Cell::Float(at_share(&values, share));
            Some(if values.is_empty() { Cell::Null } else { Cell::List(shares.iter().map(each).collect()) })
        };
        obeys(percentile(kind, &shares, true).as_ref(), &trial, some, near_lists);
    }

    #[test]
    fn the_mode_is_the_smallest_of_the_most_frequent((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial_of(vec![(KINDS[kind], any_or_few(KINDS[kind]))])))) {
        let oracle = |rows: &[&Event]| {
            let counted = counted(rows);
            let most = counted.iter().map(|(_, count)| *count).max();
            Some(counted.iter().find(|(_, count)| Some(*count) == most).map_or(Cell::Null, |(value, _)| value.clone()))
        };
        obeys(mode(kind).as_ref(), &trial, oracle, same);
    }

    #[test]
    fn many_values_are_kept_apart(trial in trial(&[Kind::Int]), step in 1..50_i64) {
        let trial = crate::core::aggregate::tests::trial::Trial {
            events: trial.events.iter().enumerate().map(|(row, event)| Event { cells: vec![Cell::Int(row as i64 * step % 17)], ..event.clone() }).collect(),
            ..trial
        };
        obeys(mode(Kind::Int).as_ref(), &trial, |rows| {
            let counted = counted(rows);
            let most = counted.iter().map(|(_, count)| *count).max();
            Some(counted.iter().find(|(_, count)| Some(*count) == most).map_or(Cell::Null, |(value, _)| value.clone()))
        }, same);
        obeys(count_distinct(Kind::Int).as_ref(), &trial, |rows| Some(Cell::Int(counted(rows).len() as i64)), same);
    }
}

#[test]
fn a_median_is_the_mean_of_the_two_in_the_middle() {
    let of = |values: &[i64]| {
        let cells = values.iter().copied().map(Cell::Int).collect();
        alone(
            percentile(Kind::Int, &[0.5], false).as_ref(),
            Kind::Int,
            cells,
        )
    };
    assert!(same(&of(&[40, 10, 20, 80]).unwrap(), &Cell::Float(30.0)));
    assert!(same(&of(&[40, 10, 20]).unwrap(), &Cell::Float(20.0)));
    assert!(same(&of(&[]).unwrap(), &Cell::Null));
}

#[test]
fn values_without_their_counts_are_an_error() {
    let column = |len: i64| list(vec![0, len], i64::dense([7, 8]));
    let load = |lens: [i64; 2]| mode(Kind::Int).load(&lens.map(column)).is_ok();
    assert!(load([2, 2]));
    assert!(!load([1, 2]));
    assert!(!load([2, 1]));
}
