//! `variance`, `var_pop`, `stddev`, `stddev_pop` against exact fractions.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::functions::variance::{Spread, Variance};
use crate::core::aggregate::scalar::Scalar;
use ethnum::I256;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, alone, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, Kind, Trial, near, same, trial, trial_of};

/// The variance of integers times `unit`, as `(n Q - S S) / (n m)` in integers of 256 bits.
fn exact(values: &[I256], population: bool, root: bool, unit: f64) -> Expected {
    let count = values.len() as i64;
    let divisor = if population { count } else { count - 1 };
    if count == 0 || divisor == 0 {
        return Some(Cell::Null);
    }
    // n Q - S S is the sum of the squared differences of all pairs.
    let mut pairs = I256::ZERO;
    for (place, left) in values.iter().enumerate() {
        for right in &values[..place] {
            pairs += (left - right) * (left - right);
        }
    }
    let variance = pairs.as_f64() / count as f64 / divisor as f64;
    Some(Cell::Float(if root {
        variance.sqrt() * unit
    } else {
        variance * unit * unit
    }))
}

fn oracle(rows: &[&Event], population: bool, root: bool, unit: f64) -> Expected {
    let mut values = Vec::new();
    for row in rows {
        match row.cells[0] {
            Cell::Int(value) => values.push(I256::from(value)),
            Cell::Wide(value) => values.push(I256::from(value)),
            Cell::Float(value) if value.is_finite() => {
                values.push(I256::from((value / unit) as i128))
            }
            Cell::Float(_) => values.push(I256::MAX),
            _ => {}
        }
    }
    if values.contains(&I256::MAX) && (population || values.len() > 1) {
        return Some(Cell::Float(f64::NAN));
    }
    if values.contains(&I256::MAX) {
        Some(Cell::Null)
    } else {
        exact(&values, population, root, unit)
    }
}

/// Numbers around 1e9 with a deviation of 1, in steps of 2^-20; now and then one that is not a
/// number.
fn far_from_zero() -> BoxedStrategy<Cell> {
    let number = (-3 << 20..3 << 20).prop_map(|step: i32| 1e9 + f64::from(step) / 1_048_576.0);
    let odd = prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    prop_oneof![60 => number, 1 => odd]
        .prop_map(Cell::Float)
        .boxed()
}

/// Numbers of very different sizes, all multiples of 2^-20.
fn of_any_size() -> BoxedStrategy<Cell> {
    (any::<i32>(), -20..60_i32)
        .prop_map(|(digits, exponent)| Cell::Float(f64::from(digits) * f64::from(exponent).exp2()))
        .boxed()
}

const UNIT: f64 = 1.0 / 1_048_576.0;

/// Exponents from which the squares of numbers leave the range of floats, or come near.
const ENDS: [i32; 10] = [-1074, -1022, -590, -470, -430, -400, 380, 430, 510, 953];

/// Whole multiples of 2^end: their distances lie on both sides of a bound where they are scaled.
fn near_an_end(end: i32) -> BoxedStrategy<Cell> {
    (-1000..1000_i32, 0..61_i32)
        .prop_map(move |(digits, exponent)| {
            Cell::Float(f64::from(digits) * f64::from(exponent).exp2() * f64::from(end).exp2())
        })
        .boxed()
}

fn all_four<V: Distance>(trial: &Trial, scale: f64, unit: f64) {
    for (population, root) in [(false, false), (false, true), (true, false), (true, true)] {
        obeys(
            &Variance::<V>::new(Spread {
                population,
                root,
                scale,
            }),
            trial,
            |rows| oracle(rows, population, root, unit),
            near,
        );
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn a_mean_far_from_zero_costs_no_digits(trial in trial_of(vec![(Kind::Float, far_from_zero())])) {
        all_four::<f64>(&trial, 1.0, UNIT);
    }

    #[test]
    fn numbers_of_any_size_vary_exactly(trial in trial_of(vec![(Kind::Float, of_any_size())])) {
        all_four::<f64>(&trial, 1.0, UNIT);
    }

    #[test]
    fn numbers_near_the_ends_of_floats_vary_exactly((end, trial) in prop::sample::select(ENDS.to_vec()).prop_flat_map(|end| (Just(end), trial_of(vec![(Kind::Float, near_an_end(end))])))) {
        all_four::<f64>(&trial, 1.0, f64::from(end).exp2());
    }

    #[test]
    fn integers_vary_exactly(trial in trial(&[Kind::Int])) {
        all_four::<i64>(&trial, 1.0, 1.0);
    }

    #[test]
    fn decimals_vary_exactly(trial in trial_of(vec![(Kind::Wide, prop_oneof![-999..1000_i128, -(1_i128 << 119)..1 << 119].prop_map(Cell::Wide).boxed())])) {
        all_four::<i128>(&trial, 100.0, 0.01);
    }

    #[test]
    fn equal_values_vary_by_exactly_nothing(value in any::<f64>().prop_filter("a number", |value| value.is_finite()), count in 1..40_usize) {
        let event = |place: usize| Event { key: 0, time: 0, seq_no: place as u64, cells: vec![Cell::Float(value)] };
        let trial = Trial { kinds: vec![Kind::Float], events: (0..count).map(event).collect(), seed: 3 };
        let nothing = |rows: &[&Event]| Some(if rows.is_empty() { Cell::Null } else { Cell::Float(0.0) });
        obeys(&Variance::<f64>::new(spread(true, false)), &trial, nothing, same);
        obeys(&Variance::<f64>::new(spread(true, true)), &trial, nothing, same);
    }
}

/// A spread of values in units of 1.
fn spread(population: bool, root: bool) -> Spread {
    Spread {
        population,
        root,
        scale: 1.0,
    }
}

/// The result over one window.
fn of<V: Distance>(kind: Kind, aggregate: &Variance<V>, cells: Vec<Cell>) -> f64 {
    match alone(aggregate, kind, cells) {
        Some(Cell::Float(value)) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_ends_of_each_kind_vary_without_overflow() {
    let squared = |value: f64| value * value;
    let variance = of(
        Kind::Wide,
        &Variance::<i128>::new(spread(true, false)),
        vec![Cell::Wide(i128::MAX), Cell::Wide(i128::MIN)],
    );
    assert!(
        (variance / squared(2_f64.powi(127)) - 1.0).abs() < 1e-9,
        "{variance}"
    );
    let variance = of(
        Kind::Int,
        &Variance::<i64>::new(spread(true, true)),
        vec![Cell::Int(i64::MAX), Cell::Int(i64::MIN)],
    );
    assert!((variance / 2_f64.powi(63) - 1.0).abs() < 1e-9, "{variance}");
    let variance = of(
        Kind::Float,
        &Variance::<f64>::new(spread(true, false)),
        vec![Cell::Float(f64::MAX), Cell::Float(f64::MIN)],
    );
    assert!(variance == f64::INFINITY, "{variance}");
    let deviation = of(
        Kind::Float,
        &Variance::<f64>::new(spread(true, true)),
        vec![Cell::Float(f64::MAX), Cell::Float(f64::MIN)],
    );
    assert!((deviation / f64::MAX - 1.0).abs() < 1e-9, "{deviation}");
}

#[test]
fn a_deviation_is_exact_where_its_square_is_no_float() {
    let deviation = |values: &[f64]| {
        let spread = self::spread(false, true);
        let cells = values.iter().map(|&value| Cell::Float(value)).collect();
        of(Kind::Float, &Variance::<f64>::new(spread), cells)
    };
    for size in [1e-300, 1e-200, 1e-150, 1e-120, 1e130, 1e150, 1e200, 1e300] {
        // The deviation of -1, 0 and 1 is 1.
        let got = deviation(&[size, -size, 0.0]);
        assert!((got / size - 1.0).abs() < 1e-9, "{size}: {got}");
        // One value of another magnitude comes last: it is the only one that counts, or none.
        let got = deviation(&[size, -size, 0.0, 1.0]);
        let expected = if size > 1.0 {
            size * (2_f64 / 3.0).sqrt()
        } else {
            0.5
        };
        assert!((got / expected - 1.0).abs() < 1e-9, "{size} and 1: {got}");
    }
}

#[test]
fn a_state_with_an_impossible_exponent_is_refused() {
    let aggregate = Variance::<f64>::new(spread(false, false));
    let state = |exponent: i64| {
        let mut states = aggregate.save(&[]);
        for state in &mut states {
            *state = f64::dense([1.0]);
        }
        states[0] = i64::dense([2]);
        states[2] = i64::dense([exponent]);
        aggregate.load(&states)
    };
    for exponent in [-1100, 0, 1100] {
        assert!(state(exponent).is_ok(), "{exponent}");
    }
    for exponent in [i64::MIN, -1101, 1101, i64::MAX] {
        assert!(state(exponent).is_err(), "{exponent}");
    }
}

#[test]
fn a_million_values_with_a_mean_of_1e12_and_a_deviation_of_1e_3() {
    // Steps of 2^-12 around 2^40: -2, -1, 0, 1, 2, whose population variance is 2 steps squared.
    let step = |place: i64| Cell::Float(2_f64.powi(40) + (place % 5 - 2) as f64 / 4096.0);
    let variance = of(
        Kind::Float,
        &Variance::<f64>::new(spread(true, false)),
        (0..1_000_000).map(step).collect(),
    );
    assert!(
        (variance * 4096.0 * 4096.0 / 2.0 - 1.0).abs() < 1e-12,
        "{variance}"
    );
}
