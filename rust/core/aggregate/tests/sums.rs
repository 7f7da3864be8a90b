//! `count`, `sum` and `mean` against exact arithmetic.

use crate::core::aggregate::functions::count::Count;
use crate::core::aggregate::functions::mean::{Mean, MeanType};
use crate::core::aggregate::functions::sum::Sum;
use ethnum::I256;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, alone, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, KINDS, Kind, near, same, trial, trial_of};

const DECIMAL: i128 = 10_i128.pow(38);

/// The values of the one column that are not null.
fn values<'e>(rows: &[&'e Event]) -> Vec<&'e Cell> {
    rows.iter()
        .map(|row| &row.cells[0])
        .filter(|cell| !matches!(cell, Cell::Null))
        .collect()
}

fn integer(cell: &Cell) -> I256 {
    match cell {
        Cell::Int(value) => I256::from(*value),
        Cell::Wide(value) => I256::from(*value),
        _ => panic!("{cell:?} is no integer"),
    }
}

fn total(values: &[&Cell]) -> I256 {
    values
        .iter()
        .fold(I256::ZERO, |total, value| total + integer(value))
}

/// `dividend / divisor`, ties away from zero.
fn rounded(dividend: I256, divisor: I256) -> I256 {
    let size = (dividend.abs() * 2 + divisor) / (divisor * 2);
    if dividend < 0 { -size } else { size }
}

fn int(value: I256) -> Expected {
    i64::try_from(value).ok().map(Cell::Int)
}

fn wide(value: I256, limit: i128) -> Expected {
    (value.abs() < I256::from(limit)).then(|| Cell::Wide(i128::try_from(value).unwrap()))
}

/// Floats that are multiples of 1/1024 below 2^80, all exact in an i128; now and then one that is
/// not a number.
fn dyadic() -> BoxedStrategy<Cell> {
    let number = (any::<i32>(), -10..50_i32)
        .prop_map(|(digits, exponent)| f64::from(digits) * f64::from(exponent).exp2());
    let odd = prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
    prop_oneof![40 => number, 1 => odd]
        .prop_map(Cell::Float)
        .boxed()
}

/// The exact sum of floats, rounded once.
fn float_total(values: &[&Cell]) -> f64 {
    let floats: Vec<f64> = values
        .iter()
        .map(|cell| {
            if let Cell::Float(value) = cell {
                *value
            } else {
                panic!("{cell:?}")
            }
        })
        .collect();
    if floats.iter().all(|value| value.is_finite()) {
        floats
            .iter()
            .map(|value| (value * 1024.0) as i128)
            .sum::<i128>() as f64
            / 1024.0
    } else {
        floats.iter().sum()
    }
}

/// Whole numbers of three magnitudes, so that sums of them cancel over more bits than two floats
/// have.
fn cancelling() -> BoxedStrategy<Cell> {
    let exponent = prop_oneof![0..20_i32, 70..90_i32, 140..160_i32];
    (-3..4_i32, exponent)
        .prop_map(|(digits, exponent)| Cell::Float(f64::from(digits) * f64::from(exponent).exp2()))
        .boxed()
}

/// The number in a cell as an integer.
fn whole(cell: &Cell) -> I256 {
    match cell {
        Cell::Float(value) => {
            // 2^exponent times an integer below 2^63.
            let exponent = (value.abs().log2() as i32).saturating_sub(60).max(0);
            I256::from((value / f64::from(exponent).exp2()) as i64) << exponent.cast_unsigned()
        }
        _ => panic!("{cell:?} is no float"),
    }
}

/// The sum of whole numbers, and how far off a sum of floats may be (rules 6.6).
fn bounded(rows: &[&Event]) -> Expected {
    let values = values(rows);
    if values.is_empty() {
        return Some(Cell::Null);
    }
    let count = values.len() as f64;
    let (mut sum, mut sizes) = (I256::ZERO, I256::ZERO);
    for value in values {
        sum += whole(value);
        sizes += whole(value).abs();
    }
    let bound = count * count * sizes.as_f64() * (-104_f64).exp2() + sum.as_f64().abs() * 1e-15;
    Some(Cell::List(vec![
        Cell::Float(sum.as_f64()),
        Cell::Float(bound),
    ]))
}

/// Whether a sum is not farther off than its bound.
fn within(got: &Cell, expected: &Cell) -> bool {
    match (got, expected) {
        (Cell::Float(got), Cell::List(cells)) => match cells[..] {
            [Cell::Float(exact), Cell::Float(bound)] => (got - exact).abs() <= bound,
            _ => false,
        },
        _ => same(got, expected),
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn a_float_sum_that_cancels_is_within_its_bound(trial in trial_of(vec![(Kind::Float, cancelling())])) {
        obeys(&Sum::<f64>::new(0), &trial, bounded, within);
    }

    #[test]
    fn count_counts_rows(trial in trial(&[])) {
        obeys(&Count::default(), &trial, |rows| Some(Cell::Int(rows.len() as i64)), same);
    }

    #[test]
    fn count_of_a_column_counts_values(trial in (0..4_usize).prop_flat_map(|kind| trial(&[KINDS[kind]]))) {
        obeys(&Count::default(), &trial, |rows| Some(Cell::Int(values(rows).len() as i64)), same);
    }

    #[test]
    fn integer_sums_are_exact_and_fail_only_where_the_window_itself_overflows(trial in trial(&[Kind::Int])) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            if values.is_empty() { Some(Cell::Null) } else { int(total(&values)) }
        };
        obeys(&Sum::<i64>::new(0), &trial, oracle, same);
    }

    #[test]
    fn decimal_sums_are_exact_and_stay_below_their_limit(trial in trial(&[Kind::Wide]), limit in prop_oneof![Just(DECIMAL), Just(5_i128), Just(i128::MAX)]) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            if values.is_empty() { Some(Cell::Null) } else { wide(total(&values), limit) }
        };
        obeys(&Sum::<i128>::new(limit), &trial, oracle, same);
    }

    #[test]
    fn float_sums_are_near_the_exact_value(trial in trial_of(vec![(Kind::Float, dyadic())])) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            Some(if values.is_empty() { Cell::Null } else { Cell::Float(float_total(&values)) })
        };
        obeys(&Sum::<f64>::new(0), &trial, oracle, near);
    }

    #[test]
    fn means_of_floats_are_near_the_exact_value(trial in trial_of(vec![(Kind::Float, dyadic())])) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            Some(if values.is_empty() { Cell::Null } else { Cell::Float(float_total(&values) / values.len() as f64) })
        };
        obeys(&Mean::<f64>::new(MeanType::Float), &trial, oracle, near);
    }

    #[test]
    fn means_of_integers_are_floats(ints in trial(&[Kind::Int]), wides in trial(&[Kind::Wide])) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            Some(if values.is_empty() { Cell::Null } else { Cell::Float(total(&values).as_f64() / values.len() as f64) })
        };
        obeys(&Mean::<i64>::new(MeanType::Float), &ints, oracle, near);
        obeys(&Mean::<i128>::new(MeanType::Float), &wides, oracle, near);
    }

    #[test]
    fn means_of_durations_round_ties_away_from_zero(trial in trial(&[Kind::Int])) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            if values.is_empty() { Some(Cell::Null) } else { int(rounded(total(&values), I256::from(values.len() as i64))) }
        };
        obeys(&Mean::<i64>::new(MeanType::Rounded { factor: 1, limit: 0 }), &trial, oracle, same);
    }

    #[test]
    fn means_of_decimals_gain_decimals_and_stay_below_their_limit(trial in trial(&[Kind::Wide]), factor in prop_oneof![Just(1_i128), Just(10_000)]) {
        let oracle = |rows: &[&Event]| {
            let values = values(rows);
            if values.is_empty() {
                return Some(Cell::Null);
            }
            wide(rounded(total(&values) * I256::from(factor), I256::from(values.len() as i64)), DECIMAL)
        };
        obeys(&Mean::<i128>::new(MeanType::Rounded { factor, limit: DECIMAL }), &trial, oracle, same);
    }
}

#[test]
fn an_overflow_on_the_way_is_none() {
    let sum = |values: [i64; 3]| {
        alone(
            &Sum::<i64>::new(0),
            Kind::Int,
            values.map(Cell::Int).to_vec(),
        )
    };
    assert!(matches!(sum([i64::MAX, 1, -1]), Some(Cell::Int(i64::MAX))));
    assert!(matches!(sum([i64::MIN, -1, 1]), Some(Cell::Int(i64::MIN))));
    assert!(sum([i64::MAX, 1, 0]).is_none());
    assert!(sum([i64::MIN, -1, 0]).is_none());
}

#[test]
fn what_cancels_leaves_what_is_left() {
    for (values, left) in [
        ([1e100, 1.0, -1e100], 1.0),
        ([f64::MAX, 3.0, -f64::MAX], 3.0),
        ([1e16, 1.0, -1e16], 1.0),
    ] {
        let sum = alone(
            &Sum::<f64>::new(0),
            Kind::Float,
            values.map(Cell::Float).to_vec(),
        )
        .unwrap();
        assert!(same(&sum, &Cell::Float(left)), "{values:?}: {sum:?}");
    }
}

#[test]
fn a_float_sum_is_within_1e_9_where_no_more_cancels_than_the_bound() {
    // Five values whose sizes are 2^161 in sum: within 1e-9 from 5² 2^-74 2^161 = 25 2^87 on.
    for (left, exact) in [(2_f64.powi(46), false), (25.0 * 2_f64.powi(87), true)] {
        let (large, middle) = (2_f64.powi(160), 2_f64.powi(100));
        let values = [large, middle, left, -large, -middle];
        let cells = values.map(Cell::Float).to_vec();
        let sum = alone(&Sum::<f64>::new(0), Kind::Float, cells).unwrap();
        assert_eq!(near(&sum, &Cell::Float(left)), exact, "{left}: {sum:?}");
        let bound = Cell::List(vec![Cell::Float(left), Cell::Float(25.0 * 2_f64.powi(57))]);
        assert!(within(&sum, &bound), "{left}: {sum:?}");
    }
}

#[test]
fn a_tie_of_a_mean_goes_away_from_zero() {
    let mean = |values: [i64; 2]| {
        alone(
            &Mean::<i64>::new(MeanType::Rounded {
                factor: 1,
                limit: 0,
            }),
            Kind::Int,
            values.map(Cell::Int).to_vec(),
        )
    };
    assert!(matches!(mean([1, 2]), Some(Cell::Int(2))));
    assert!(matches!(mean([-1, -2]), Some(Cell::Int(-2))));
    assert!(matches!(
        mean([i64::MAX, i64::MAX]),
        Some(Cell::Int(i64::MAX))
    ));
}
