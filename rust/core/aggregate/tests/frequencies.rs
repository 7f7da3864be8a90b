//! `top_k` and `histogram_numeric` against lists that are counted and merged one by one.

use crate::core::aggregate::Aggregate;
use crate::core::aggregate::functions::histogram_numeric::HistogramNumeric;
use crate::core::aggregate::functions::top_k::TopK;
use proptest::prelude::*;

use crate::core::aggregate::tests::laws::{alone, obeys};
use crate::core::aggregate::tests::trial::{Cell, Event, KINDS, Kind, near, order, same, trial_of};
use crate::core::aggregate::tests::values::{any_or_few, counted};

fn top_k(kind: Kind, k: usize) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(TopK::<i64>::new(k)),
        Kind::Float => Box::new(TopK::<f64>::new(k)),
        Kind::Wide => Box::new(TopK::<i128>::new(k)),
        Kind::Bytes => Box::new(TopK::<Box<[u8]>>::new(k)),
    }
}

fn histogram(kind: Kind, bins: usize) -> Box<dyn Aggregate> {
    match kind {
        Kind::Int => Box::new(HistogramNumeric::<i64>::new(bins)),
        Kind::Float => Box::new(HistogramNumeric::<f64>::new(bins)),
        _ => Box::new(HistogramNumeric::<i128>::new(bins)),
    }
}

fn pair(value: Cell, count: Cell) -> Cell {
    Cell::List(vec![value, count])
}

/// All values with their counts and null with its own, sorted by count, then value, null last.
fn most_frequent(rows: &[&Event], k: usize) -> Cell {
    let nulls = rows
        .iter()
        .filter(|row| matches!(row.cells[0], Cell::Null))
        .count();
    let mut items = counted(rows);
    items.extend((nulls > 0).then_some((Cell::Null, nulls)));
    items.sort_by(|(left, most), (right, more)| {
        let by_value = match (left, right) {
            (Cell::Null, _) => std::cmp::Ordering::Greater,
            (_, Cell::Null) => std::cmp::Ordering::Less,
            _ => order(left, right),
        };
        more.cmp(most).then(by_value)
    });
    let items = items.into_iter().take(k);
    Cell::List(
        items
            .map(|(item, count)| pair(item, Cell::Int(count as i64)))
            .collect(),
    )
}

fn float(cell: &Cell) -> f64 {
    match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        Cell::Wide(value) => *value as f64,
        other => panic!("{other:?}"),
    }
}

/// Merges the nearest two neighbours until few enough values are left.
fn binned(rows: &[&Event], kind: Kind, most: usize) -> Cell {
    struct Bin {
        values: Vec<Cell>,
        sum: f64,
        mean: f64,
        count: f64,
    }
    let mut bins: Vec<Bin> = counted(rows)
        .into_iter()
        .map(|(cell, count)| Bin {
            sum: float(&cell) * count as f64,
            mean: float(&cell),
            count: count as f64,
            values: vec![cell],
        })
        .collect();
    if bins.is_empty() {
        return Cell::Null;
    }
    while bins.len() > most {
        let apart = |place: usize| {
            let apart: f64 = bins[place + 1].mean - bins[place].mean;
            if apart.is_finite() {
                apart.max(0.0)
            } else {
                f64::INFINITY
            }
        };
        let first = (0..bins.len() - 1)
            .min_by(|&one, &other| apart(one).total_cmp(&apart(other)))
            .unwrap();
        let next = bins.remove(first + 1);
        let bin = &mut bins[first];
        let (sum, count) = (bin.sum + next.sum, bin.count + next.count);
        let share = next.count / count;
        let mean = if sum.is_finite() {
            sum / count
        } else {
            bin.mean * (1.0 - share) + next.mean * share
        };
        bin.values.extend(next.values);
        let (least, largest) = (float(&bin.values[0]), float(bin.values.last().unwrap()));
        (bin.sum, bin.count) = (sum, count);
        bin.mean = if mean.is_nan() {
            mean
        } else {
            mean.max(least).min(largest)
        };
    }
    let centre = |bin: &Bin| match (bin.values.as_slice(), kind) {
        ([value], _) => value.clone(),
        ([Cell::Int(least), .., Cell::Int(largest)], _) => {
            Cell::Int((bin.mean.trunc() as i64).clamp(*least, *largest))
        }
        ([Cell::Wide(least), .., Cell::Wide(largest)], _) => {
            Cell::Wide((bin.mean.round() as i128).clamp(*least, *largest))
        }
        _ => Cell::Float(bin.mean),
    };
    Cell::List(
        bins.iter()
            .map(|bin| pair(centre(bin), Cell::Float(bin.count)))
            .collect(),
    )
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn the_most_frequent_values_come_first((kind, trial) in (0..4_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial_of(vec![(KINDS[kind], any_or_few(KINDS[kind]))]))), k in 1..6_usize) {
        obeys(top_k(kind, k).as_ref(), &trial, |rows| Some(most_frequent(rows, k)), same);
    }

    #[test]
    fn neighbours_share_a_bin_while_there_are_too_many((kind, trial) in (0..3_usize).prop_flat_map(|kind| (Just(KINDS[kind]), trial_of(vec![(KINDS[kind], any_or_few(KINDS[kind]))]))), bins in 2..7_usize) {
        obeys(histogram(kind, bins).as_ref(), &trial, |rows| Some(binned(rows, kind, bins)), same);
    }

    #[test]
    fn bins_of_many_values_hold_all_of_them(values in prop::collection::vec(-1000..1000_i64, 1..200), bins in 2..9_usize) {
        let cells = values.iter().copied().map(|value| Cell::Float(value as f64)).collect();
        let Some(Cell::List(found)) = alone(histogram(Kind::Float, bins).as_ref(), Kind::Float, cells) else { panic!() };
        let found: Vec<(f64, f64)> = found.iter().map(|bin| match bin {
            Cell::List(fields) => (float(&fields[0]), float(&fields[1])),
            other => panic!("{other:?}"),
        }).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let mut rest = sorted.as_slice();
        for (mean, count) in &found {
            let (own, later) = rest.split_at(*count as usize);
            let exact = own.iter().sum::<i64>() as f64 / *count;
            assert!(near(&Cell::Float(mean + 5000.0), &Cell::Float(exact + 5000.0)), "{mean} of {own:?}");
            rest = later;
        }
        assert!(rest.is_empty(), "{rest:?} are in no bin");
        sorted.dedup();
        assert_eq!(found.len(), bins.min(sorted.len()));
    }
}

#[test]
fn bins_of_neighbours_have_their_mean_and_their_number() {
    let cells = [1, 2, 5, 6, 9, 9].map(Cell::Int).to_vec();
    let got = alone(histogram(Kind::Int, 3).as_ref(), Kind::Int, cells);
    let bins = [(1, 2.0), (5, 2.0), (9, 2.0)];
    let bins = bins.map(|(mean, count)| pair(Cell::Int(mean), Cell::Float(count)));
    assert!(same(&got.unwrap(), &Cell::List(bins.to_vec())));
}
