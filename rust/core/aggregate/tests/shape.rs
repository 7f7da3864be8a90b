//! `skewness`, `kurtosis`, `covar_pop`, `covar_samp` and `corr` against exact integers.

use crate::core::aggregate::distance::Distance;
use crate::core::aggregate::functions::central_moments::{CentralMoments, Shape};
use crate::core::aggregate::functions::covariance::{Covariance, Measure, Relation};
use ethnum::I256;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{Expected, alone, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, Kind, Trial, same, trial_of};

/// Within 1e-9, relative or absolute: measures of shape and of correlation have no unit.
fn close(got: &Cell, exact: &Cell) -> bool {
    match (got, exact) {
        (Cell::Float(got), Cell::Float(exact)) if exact.is_finite() => {
            (got - exact).abs() <= 1e-9 * exact.abs().max(1.0)
        }
        _ => same(got, exact),
    }
}

/// Within 1e-9 of the exact value, relative, or within the last bits of the smallest floats.
fn near(got: &Cell, exact: &Cell) -> bool {
    match (got, exact) {
        (Cell::Float(got), Cell::Float(exact)) if exact.is_finite() => {
            (got - exact).abs() <= (1e-9 * exact.abs()).max(f64::from_bits(2))
        }
        _ => same(got, exact),
    }
}

/// A value as a multiple of `unit`; the largest integer if it is not a number.
fn integer(cell: &Cell, unit: f64) -> Option<I256> {
    match *cell {
        Cell::Int(value) => Some(I256::from(value)),
        Cell::Wide(value) => Some(I256::from(value)),
        Cell::Float(value) if value.is_finite() => Some(I256::from((value / unit) as i128)),
        Cell::Float(_) => Some(I256::MAX),
        _ => None,
    }
}

fn mean_power(deviations: &[I256], power: u32) -> f64 {
    deviations
        .iter()
        .fold(I256::ZERO, |sum, deviation| sum + deviation.pow(power))
        .as_f64()
}

fn shape(rows: &[&Event], shape: Shape, unit: f64) -> Expected {
    let cells = rows.iter().filter_map(|row| integer(&row.cells[0], unit));
    let values: Vec<I256> = cells.collect();
    if values.contains(&I256::MAX) {
        return Some(Cell::Float(f64::NAN));
    }
    let count = I256::from(values.len() as i64);
    let sum = values.iter().fold(I256::ZERO, |sum, value| sum + value);
    // n times the deviations from the mean, in integers
    let deviations: Vec<I256> = values.iter().map(|value| value * count - sum).collect();
    let squares = mean_power(&deviations, 2);
    if squares == 0.0 {
        return Some(Cell::Null);
    }
    let n = values.len() as f64;
    Some(Cell::Float(match shape {
        Shape::Skewness => n.sqrt() * mean_power(&deviations, 3) / squares.powf(1.5),
        Shape::Kurtosis => n * mean_power(&deviations, 4) / squares / squares - 3.0,
    }))
}

fn relation(rows: &[&Event], relation: Relation, units: [f64; 2]) -> Expected {
    let pair = |row: &&Event| {
        Some((
            integer(&row.cells[0], units[0])?,
            integer(&row.cells[1], units[1])?,
        ))
    };
    let pairs: Vec<(I256, I256)> = rows.iter().filter_map(pair).collect();
    let least = if relation == Relation::Population {
        1
    } else {
        2
    };
    if pairs.len() < least {
        return Some(Cell::Null);
    }
    if pairs.iter().any(|&(x, y)| x == I256::MAX || y == I256::MAX) {
        return Some(Cell::Float(f64::NAN));
    }
    let (mut products, mut x_squares, mut y_squares) = (I256::ZERO, I256::ZERO, I256::ZERO);
    for (place, (x, y)) in pairs.iter().enumerate() {
        for (other_x, other_y) in &pairs[..place] {
            products += (x - other_x) * (y - other_y);
            x_squares += (x - other_x) * (x - other_x);
            y_squares += (y - other_y) * (y - other_y);
        }
    }
    let n = pairs.len() as f64;
    // By both units in two equal steps, so that neither leaves the range of floats alone.
    let step = ((units[0].log2() + units[1].log2()) / 2.0).exp2();
    let covariance = |divisor: f64| products.as_f64() / n / divisor * step * step;
    Some(match relation {
        Relation::Population => Cell::Float(covariance(n)),
        Relation::Sample => Cell::Float(covariance(n - 1.0)),
        Relation::Correlation if x_squares == 0 || y_squares == 0 => Cell::Null,
        Relation::Correlation => {
            Cell::Float(products.as_f64() / x_squares.as_f64().sqrt() / y_squares.as_f64().sqrt())
        }
    })
}

/// Multiples of a unit; now and then a value that is not a number.
fn multiples(unit: f64, most: i32) -> BoxedStrategy<Cell> {
    let number = (-most..=most).prop_map(move |steps| f64::from(steps) * unit);
    let odd = prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    prop_oneof![60 => number, 1 => odd]
        .prop_map(Cell::Float)
        .boxed()
}

/// Multiples of a unit around a value far from zero.
fn far_from_zero() -> BoxedStrategy<Cell> {
    (-1000..1000_i32)
        .prop_map(|steps| Cell::Float(1e9 + f64::from(steps) * UNIT))
        .boxed()
}

const UNIT: f64 = 1.0 / 1024.0;

/// Exponents of units whose fourth powers, or squares, leave the range of floats.
const UNITS: [i32; 6] = [-1074, -600, -300, 0, 300, 1010];

fn both_shapes<V: Distance>(trial: &Trial, unit: f64) {
    for measure in [Shape::Skewness, Shape::Kurtosis] {
        let aggregate = CentralMoments::<V>::new(measure);
        obeys(&aggregate, trial, |rows| shape(rows, measure, unit), close);
    }
}

fn all_relations<X: Distance, Y: Distance>(trial: &Trial, units: [f64; 2]) {
    for kind in [Relation::Population, Relation::Sample] {
        let measure = Measure {
            relation: kind,
            scale: 1.0,
        };
        let aggregate = Covariance::<X, Y>::new(measure);
        obeys(&aggregate, trial, |rows| relation(rows, kind, units), near);
    }
    let measure = Measure {
        relation: Relation::Correlation,
        scale: 1.0,
    };
    let aggregate = Covariance::<X, Y>::new(measure);
    let oracle = |rows: &[&Event]| relation(rows, Relation::Correlation, units);
    obeys(&aggregate, trial, oracle, close);
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn shapes_do_not_mind_the_size_of_numbers((exponent, trial) in prop::sample::select(UNITS.to_vec()).prop_flat_map(|exponent| (Just(exponent), trial_of(vec![(Kind::Float, multiples(f64::from(exponent).exp2(), 1000))])))) {
        both_shapes::<f64>(&trial, f64::from(exponent).exp2());
    }

    #[test]
    fn shapes_far_from_zero_cost_no_digits(trial in trial_of(vec![(Kind::Float, far_from_zero())])) {
        both_shapes::<f64>(&trial, UNIT);
    }

    #[test]
    fn integers_have_shapes(trial in trial_of(vec![(Kind::Int, (-100_000..100_000_i64).prop_map(Cell::Int).boxed())])) {
        both_shapes::<i64>(&trial, 1.0);
    }

    #[test]
    fn decimals_have_shapes(trial in trial_of(vec![(Kind::Wide, (-3..4_i128).prop_map(|steps| Cell::Wide((1 << 60) + steps)).boxed())])) {
        both_shapes::<i128>(&trial, 1.0);
    }

    #[test]
    fn relations_are_exact_for_numbers_of_any_size((x, y, trial) in (prop::sample::select(UNITS.to_vec()), prop::sample::select(UNITS.to_vec())).prop_flat_map(|(x, y)| {
        let unit = |exponent: i32| f64::from(exponent).exp2();
        (Just(unit(x)), Just(unit(y)), trial_of(vec![(Kind::Float, multiples(unit(x), 1000)), (Kind::Float, multiples(unit(y), 1000))]))
    })) {
        all_relations::<f64, f64>(&trial, [x, y]);
    }

    #[test]
    fn relations_far_from_zero_cost_no_digits(trial in trial_of(vec![(Kind::Float, far_from_zero()), (Kind::Wide, (-1000..1000_i128).prop_map(|steps| Cell::Wide((1 << 60) + steps)).boxed())])) {
        all_relations::<f64, i128>(&trial, [UNIT, 1.0]);
    }

    #[test]
    fn integers_relate_to_floats(trial in trial_of(vec![(Kind::Int, (-3..4_i64).prop_map(Cell::Int).boxed()), (Kind::Float, multiples(UNIT, 5))])) {
        all_relations::<i64, f64>(&trial, [1.0, UNIT]);
    }
}

#[test]
fn a_covariance_of_decimals_is_in_units() {
    let trial = Trial {
        kinds: vec![Kind::Wide, Kind::Int],
        events: (0..4)
            .map(|row| Event {
                key: 0,
                time: row,
                seq_no: row as u64,
                cells: vec![Cell::Wide(i128::from(row) * 100), Cell::Int(row)],
            })
            .collect(),
        seed: 1,
    };
    let measure = Measure {
        relation: Relation::Population,
        scale: 100.0,
    };
    let oracle = |rows: &[&Event]| relation(rows, Relation::Population, [0.01, 1.0]);
    obeys(&Covariance::<i128, i64>::new(measure), &trial, oracle, near);
}

#[test]
fn one_value_has_no_shape() {
    for measure in [Shape::Skewness, Shape::Kurtosis] {
        let of = |values: Vec<Cell>| {
            alone(&CentralMoments::<f64>::new(measure), Kind::Float, values).unwrap()
        };
        assert!(same(&of(vec![]), &Cell::Null));
        assert!(same(&of(vec![Cell::Float(2.0)]), &Cell::Null));
        assert!(same(&of(vec![Cell::Float(0.1); 3]), &Cell::Null));
        assert!(same(
            &of(vec![Cell::Float(f64::NAN)]),
            &Cell::Float(f64::NAN)
        ));
    }
}
