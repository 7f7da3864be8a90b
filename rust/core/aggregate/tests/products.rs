//! `bit_and`, `bit_or`, `bit_xor` and `product` against plain loops.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::functions::bits::{And, BitOperation, Bitwise, Or, Xor};
use crate::core::aggregate::functions::product::Product;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, alone, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, Kind, near, same, trial, trial_of};

fn values<'e>(rows: &[&'e Event]) -> Vec<&'e Cell> {
    rows.iter()
        .map(|row| &row.cells[0])
        .filter(|cell| !matches!(cell, Cell::Null))
        .collect()
}

/// Each of the 128 bits alone: whether this many of this many values have it.
fn bits(rows: &[&Event], set: fn(usize, usize) -> bool) -> Expected {
    let values = values(rows);
    let integers: Vec<i128> = values
        .iter()
        .map(|cell| match cell {
            Cell::Int(value) => i128::from(*value),
            Cell::Wide(value) => *value,
            other => panic!("{other:?}"),
        })
        .collect();
    let bit = |bit: u32| {
        let having = integers.iter().filter(|&&value| value >> bit & 1 == 1);
        i128::from(set(having.count(), integers.len())) << bit
    };
    let whole = (0..128).fold(0, |whole, place| whole | bit(place));
    Some(match values.first() {
        None => Cell::Null,
        Some(Cell::Int(_)) => Cell::Int(whole as i64),
        Some(_) => Cell::Wide(whole),
    })
}

fn of_bits<O: BitOperation>(kind: Kind) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(Bitwise::<i64, O>::default()),
        _ => Box::new(Bitwise::<i128, O>::default()),
    }
}

/// Powers of two of any size, and small odd numbers: their products are exact, and many of them
/// leave the range of floats on the way.
fn factors() -> BoxedStrategy<Cell> {
    let power = (-1074..1024_i32).prop_map(|exponent| f64::from(exponent).exp2());
    let small = prop::sample::select(vec![1.0, -1.0, 3.0, 0.5]);
    let odd = prop::sample::select(vec![0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    prop_oneof![20 => power, 20 => small, 1 => odd]
        .prop_map(Cell::Float)
        .boxed()
}

/// The exponents of two and the rest apart.
fn product(rows: &[&Event]) -> Expected {
    let values = values(rows);
    if values.is_empty() {
        return Some(Cell::Null);
    }
    let (mut exponent, mut rest) = (0_i32, 1.0);
    for cell in values {
        let Cell::Float(value) = *cell else {
            panic!("{cell:?}")
        };
        if [1.0, -1.0, 3.0, 0.0].contains(&value) || !value.is_finite() {
            rest *= value;
        } else {
            exponent += value.log2().round() as i32;
        }
    }
    let half = exponent.clamp(-4000, 4000) / 2;
    let step = |exponent: i32| f64::from(exponent).exp2();
    // In steps, each within the range of floats as far as the result is.
    let scaled = [half / 2, half - half / 2]
        .into_iter()
        .chain([(exponent.clamp(-4000, 4000) - half) / 2])
        .fold(rest, |product, exponent| product * step(exponent));
    let left = exponent.clamp(-4000, 4000) - half - (exponent.clamp(-4000, 4000) - half) / 2;
    Some(Cell::Float(scaled * step(left)))
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn bits_are_those_of_all_of_any_and_of_an_odd_number((kind, trial) in prop::sample::select(vec![Kind::Int, Kind::Wide]).prop_flat_map(|kind| (Just(kind), trial(&[kind])))) {
        obeys(of_bits::<And>(kind).as_ref(), &trial, |rows| bits(rows, |having, all| having == all), same);
        obeys(of_bits::<Or>(kind).as_ref(), &trial, |rows| bits(rows, |having, _| having > 0), same);
        obeys(of_bits::<Xor>(kind).as_ref(), &trial, |rows| bits(rows, |having, _| having % 2 == 1), same);
    }

    #[test]
    fn a_product_does_not_mind_what_it_passes(trial in trial_of(vec![(Kind::Float, factors())])) {
        obeys(&Product::<f64>::new(1.0), &trial, product, near);
    }

    #[test]
    fn integers_are_multiplied_as_floats(trial in trial_of(vec![(Kind::Int, (-9..10_i64).prop_map(Cell::Int).boxed())])) {
        let oracle = |rows: &[&Event]| {
            let factors: Vec<f64> = values(rows).iter().map(|cell| if let Cell::Int(value) = cell { *value as f64 } else { panic!("{cell:?}") }).collect();
            Some(if factors.is_empty() { Cell::Null } else { Cell::Float(factors.iter().product()) })
        };
        obeys(&Product::<i64>::new(1.0), &trial, oracle, near);
    }
}

#[test]
fn a_product_of_decimals_is_in_units() {
    let cents = [150, 200, -50].map(Cell::Wide).to_vec();
    let product = alone(&Product::<i128>::new(100.0), Kind::Wide, cents);
    assert!(near(&product.unwrap(), &Cell::Float(-1.5)));
}

#[test]
fn a_product_beyond_floats_comes_back() {
    let of = |values: &[f64]| {
        let cells = values.iter().copied().map(Cell::Float).collect();
        alone(&Product::<f64>::new(1.0), Kind::Float, cells).unwrap()
    };
    assert!(near(&of(&[1e300, 1e300, 1e-300]), &Cell::Float(1e300)));
    assert!(near(&of(&[1e-300, 1e-300, 1e300]), &Cell::Float(1e-300)));
    assert!(same(&of(&[1e300, 1e300]), &Cell::Float(f64::INFINITY)));
    assert!(same(&of(&[f64::MAX]), &Cell::Float(f64::MAX)));
    assert!(same(&of(&[5e-324]), &Cell::Float(5e-324)));
}
