//! `approx_count_distinct` and `approx_percentile` against exact answers.

use arrow_array::cast::AsArray;

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::functions::approx_count_distinct::{ApproxCountDistinct, SketchSize};
use crate::core::aggregate::functions::approx_percentile::{ApproxPercentile, ApproxPercentiles};
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, obeys};
use crate::core::aggregate::tests::trial::{
    Cell, Event, Input, KINDS, Kind, cells, order, same, trial, trial_of,
};

fn approx_count_distinct(kind: Kind, error: f64) -> Box<dyn Aggregate> {
    let size = SketchSize::new(error).unwrap();
    match kind {
        Kind::Int => Box::new(ApproxCountDistinct::<i64>::new(size)),
        Kind::Float => Box::new(ApproxCountDistinct::<f64>::new(size)),
        Kind::Wide => Box::new(ApproxCountDistinct::<i128>::new(size)),
        Kind::Bytes => Box::new(ApproxCountDistinct::<Box<[u8]>>::new(size)),
    }
}

fn approx_percentile(kind: Kind, shares: &[f64], list: bool, bits: u32) -> Box<dyn Aggregate> {
    let options = ApproxPercentiles {
        shares: shares.to_vec(),
        list,
        bits,
    };
    match kind {
        Kind::Int => Box::new(ApproxPercentile::<i64>::new(options)),
        Kind::Float => Box::new(ApproxPercentile::<f64>::new(options)),
        _ => Box::new(ApproxPercentile::<i128>::new(options)),
    }
}

fn sorted(rows: &[&Event]) -> Vec<Cell> {
    let cells = rows.iter().map(|row| row.cells[0].clone());
    let mut values: Vec<Cell> = cells.filter(|cell| !matches!(cell, Cell::Null)).collect();
    values.sort_by(order);
    values
}

fn distinct(rows: &[&Event]) -> Expected {
    let mut values = sorted(rows);
    values.dedup_by(|left, right| order(left, right).is_eq());
    Some(Cell::Int(values.len() as i64))
}

/// The least value that so large a share of the values is not above.
fn at_share(rows: &[&Event], share: f64) -> Cell {
    let values = sorted(rows);
    let reached = |place: &usize| (place + 1) as f64 >= share * values.len() as f64;
    let place = (0..values.len()).find(reached);
    place.map_or(Cell::Null, |place| values[place].clone())
}

/// Less than an eighth of the value below it, in size.
fn cut_to_four_bits(got: &Cell, exact: &Cell) -> bool {
    match (got, exact) {
        (Cell::Float(got), Cell::Float(exact)) if exact.is_finite() => {
            got * exact >= 0.0
                && got.abs() <= exact.abs()
                && exact.abs() - got.abs() <= exact.abs() / 8.0
        }
        (Cell::Int(got), Cell::Int(exact)) => {
            let (got, exact) = (i128::from(*got), i128::from(*exact));
            got * exact >= 0 && (0..=exact.abs() / 8).contains(&(exact.abs() - got.abs()))
        }
        (Cell::Wide(got), Cell::Wide(exact)) => {
            got.signum() == exact.signum()
                && (0..=exact.unsigned_abs() / 8)
                    .contains(&(exact.unsigned_abs() - got.unsigned_abs()))
        }
        (Cell::List(got), Cell::List(exact)) => {
            got.len() == exact.len()
                && got
                    .iter()
                    .zip(exact)
                    .all(|(got, exact)| cut_to_four_bits(got, exact))
        }
        _ => same(got, exact),
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn few_distinct_values_are_counted_exactly((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]]))), error in prop::sample::select(vec![0.05, 0.02])) {
        obeys(approx_count_distinct(kind, error).as_ref(), &trial, distinct, same);
    }

    #[test]
    fn percentiles_of_cut_values_are_near((kind, trial) in (0..3_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial(&[KINDS[kind]]))), share in 0.0..=1.0) {
        let shares = [0.5, 0.0, 1.0, share];
        obeys(approx_percentile(kind, &[share], false, 4).as_ref(), &trial, |rows| Some(at_share(rows, share)), cut_to_four_bits);
        let all = |rows: &[&Event]| {
            let found: Vec<Cell> = shares.iter().map(|&share| at_share(rows, share)).collect();
            Some(if matches!(found[0], Cell::Null) { Cell::Null } else { Cell::List(found) })
        };
        obeys(approx_percentile(kind, &shares, true, 4).as_ref(), &trial, all, cut_to_four_bits);
    }

    #[test]
    fn small_integers_are_not_cut(trial in trial_of(vec![(Kind::Int, (-15..16_i64).prop_map(Cell::Int).boxed())])) {
        obeys(approx_percentile(Kind::Int, &[0.3], false, 4).as_ref(), &trial, |rows| Some(at_share(rows, 0.3)), same);
    }
}

/// States of one slot over integers from `from` to below `to`, in steps.
fn counted(error: f64, values: impl Iterator<Item = i64>) -> Box<dyn Aggregate> {
    let mut states = approx_count_distinct(Kind::Int, error);
    states.resize(1);
    let event = |value| Event {
        key: 0,
        time: 0,
        seq_no: 0,
        cells: vec![Cell::Int(value)],
    };
    let events: Vec<Event> = values.map(event).collect();
    let slots = vec![Slot(0); events.len()];
    states
        .update(&slots, Input::new(&[Kind::Int], &events).rows())
        .unwrap();
    states
}

fn estimate(states: &dyn Aggregate) -> i64 {
    match cells(&states.lower(&[Slot(0)]).unwrap()).remove(0) {
        Cell::Int(estimate) => estimate,
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_distinct_values_are_counted_within_three_deviations() {
    for (error, count) in [(0.25, 1_000), (0.05, 300), (0.05, 100_000), (0.01, 100_000)] {
        let got = estimate(counted(error, 0..count).as_ref());
        let off = (got - count).abs() as f64 / count as f64;
        assert!(off < 3.0 * error, "{got} of {count}, {error}");
    }
}

#[test]
fn an_estimate_does_not_depend_on_order_or_parts() {
    for count in [7, 8, 9, 40, 60, 500, 5_000] {
        let whole = estimate(counted(0.05, 0..count).as_ref());
        let backward = estimate(counted(0.05, (0..count).rev()).as_ref());
        assert_eq!(backward, whole, "{count}");
        for parts in [2, 3, 7] {
            let mut merged = counted(0.05, std::iter::empty());
            for part in 0..parts {
                // Every value is in two parts.
                let own =
                    (0..count).filter(|value| value % parts == part || (value + 1) % parts == part);
                let states = counted(0.05, own);
                let loaded = merged.load(&states.save(&[Slot(0)])).unwrap();
                merged
                    .merge(&[Slot(0)], loaded.as_ref(), &[Slot(0)])
                    .unwrap();
            }
            assert_eq!(estimate(merged.as_ref()), whole, "{count} in {parts}");
        }
    }
}

#[test]
fn a_damaged_sketch_is_an_error() {
    let states = counted(0.05, 0..1000);
    let saved = states.save(&[Slot(0)]);
    let sketch = saved[0].as_binary::<i64>().value(0);
    for len in [0, 1, 7, 8, 39, sketch.len() - 1] {
        let short = Box::<[u8]>::dense([&sketch[..len]]);
        assert!(states.load(&[short]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_sketch_takes_no_other_errors() {
    assert!(SketchSize::new(0.0001).is_err());
    assert!(SketchSize::new(0.9).is_err());
    assert!(SketchSize::new(0.25).is_ok());
    assert!(SketchSize::new(0.005).is_ok());
}
