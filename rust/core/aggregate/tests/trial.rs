//! Rows to try aggregates on: values of every kind, columns of them, and random choices.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use crate::core::aggregate::InputRows;
use crate::core::aggregate::scalar::Scalar;
use crate::core::time::Time;
use proptest::prelude::*;

/// One value of any kind.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Wide(i128),
    Bytes(Vec<u8>),
    List(Vec<Cell>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Int,
    Float,
    Wide,
    Bytes,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Int, Kind::Float, Kind::Wide, Kind::Bytes];

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) key: usize,
    pub(crate) time: i64,
    pub(crate) seq_no: u64,
    pub(crate) cells: Vec<Cell>,
}

/// The number of keys of the generated rows.
pub(crate) const WINDOWS: usize = 3;

/// The order of values: NaN above all, the zeros equal.
pub(crate) fn order(left: &Cell, right: &Cell) -> Ordering {
    match (left, right) {
        (Cell::Int(left), Cell::Int(right)) => left.cmp(right),
        (Cell::Wide(left), Cell::Wide(right)) => left.cmp(right),
        (Cell::Bytes(left), Cell::Bytes(right)) => left.cmp(right),
        (Cell::Float(left), Cell::Float(right)) if left.is_nan() || right.is_nan() => {
            left.is_nan().cmp(&right.is_nan())
        }
        (Cell::Float(left), Cell::Float(right)) => left.partial_cmp(right).unwrap(),
        _ => panic!("{left:?} and {right:?} have no order"),
    }
}

/// Equal to the bit, all NaNs being one.
pub(crate) fn same(left: &Cell, right: &Cell) -> bool {
    match (left, right) {
        (Cell::Null, Cell::Null) => true,
        (Cell::Float(left), Cell::Float(right)) => {
            left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
        }
        (Cell::List(left), Cell::List(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Cell::Int(_), Cell::Int(_))
        | (Cell::Wide(_), Cell::Wide(_))
        | (Cell::Bytes(_), Cell::Bytes(_)) => order(left, right).is_eq(),
        _ => false,
    }
}

/// Within 1e-9 of the exact value, relative, or next to it where floats are coarser than that
/// (rules 6.6); everything that is not a number to the bit.
pub(crate) fn near(got: &Cell, exact: &Cell) -> bool {
    match (got, exact) {
        (Cell::Float(got), Cell::Float(exact)) if exact.is_finite() => {
            (got - exact).abs() <= (1e-9 * exact.abs()).max(f64::from_bits(1))
        }
        _ => same(got, exact),
    }
}

/// A column. A null cell has a value underneath, which no answer may show.
pub(crate) fn column(kind: Kind, cells: &[Cell]) -> ArrayRef {
    macro_rules! values {
        ($kind:ident, $other:expr) => {
            cells.iter().map(|cell| match cell {
                Cell::$kind(value) => value,
                _ => $other,
            })
        };
    }
    let values = match kind {
        Kind::Int => i64::dense(values!(Int, &77).copied()),
        Kind::Float => f64::dense(values!(Float, &77.0).copied()),
        Kind::Wide => i128::dense(values!(Wide, &77).copied()),
        Kind::Bytes => {
            let other = b"seventyseven".to_vec();
            Box::<[u8]>::dense(values!(Bytes, &other).map(Vec::as_slice))
        }
    };
    // Validity need not start at a byte, as in sliced arrays.
    let valid = cells.iter().map(|cell| !matches!(cell, Cell::Null));
    let valid: NullBuffer = [true; 3].into_iter().chain(valid).collect();
    let nulls = valid.slice(3, cells.len());
    make_array(
        values
            .to_data()
            .into_builder()
            .nulls(Some(nulls))
            .build()
            .unwrap(),
    )
}

/// The cells of a column.
pub(crate) fn cells(column: &ArrayRef) -> Vec<Cell> {
    let cell = |row: usize| match column.data_type() {
        _ if !column.is_valid(row) => Cell::Null,
        DataType::Int64 => Cell::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => Cell::Wide(column.as_primitive::<Decimal128Type>().value(row)),
        DataType::LargeBinary => Cell::Bytes(column.as_binary::<i64>().value(row).to_vec()),
        DataType::LargeList(_) => Cell::List(cells(&column.as_list::<i64>().value(row))),
        DataType::Struct(_) => {
            let fields = column.as_struct().columns().iter();
            Cell::List(fields.map(|field| cells(field)[row].clone()).collect())
        }
        other => panic!("a column of {other}"),
    };
    (0..column.len()).map(cell).collect()
}

/// The columns of rows.
pub(crate) struct Input {
    pub(crate) times: Vec<Time>,
    pub(crate) seq_nos: Vec<u64>,
    pub(crate) columns: Vec<ArrayRef>,
}

impl Input {
    pub(crate) fn new(kinds: &[Kind], events: &[Event]) -> Self {
        let column = |(place, &kind): (usize, &Kind)| {
            let cells: Vec<Cell> = events
                .iter()
                .map(|event| event.cells[place].clone())
                .collect();
            column(kind, &cells)
        };
        Self {
            times: events.iter().map(|event| Time(event.time)).collect(),
            seq_nos: events.iter().map(|event| event.seq_no).collect(),
            columns: kinds.iter().enumerate().map(column).collect(),
        }
    }

    pub(crate) fn rows(&self) -> InputRows<'_> {
        InputRows {
            times: &self.times,
            seq_nos: &self.seq_nos,
            inputs: &self.columns,
        }
    }
}

/// Where an aggregate is tried: rows of some keys, and a seed for all further choices.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) events: Vec<Event>,
    pub(crate) seed: u64,
}

/// Values of a kind with ties, extremes, and the odd floats.
pub(crate) fn value(kind: Kind) -> BoxedStrategy<Cell> {
    match kind {
        Kind::Int => prop_oneof![4 => -3..4_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()].prop_map(Cell::Int).boxed(),
        Kind::Float => {
            let odd = prop::sample::select(vec![f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324]);
            prop_oneof![2 => odd, 2 => (-3..4_i8).prop_map(f64::from), 1 => any::<f64>()].prop_map(Cell::Float).boxed()
        }
        Kind::Wide => {
            prop_oneof![4 => -3..4_i128, 1 => Just(i128::MIN), 1 => Just(i128::MAX), 1 => any::<i128>()].prop_map(Cell::Wide).boxed()
        }
        Kind::Bytes => prop::collection::vec(0..3_u8, 0..4).prop_map(Cell::Bytes).boxed(),
    }
}

/// Rows of these columns: none, one, or many; one value in five is null.
pub(crate) fn trial_of(columns: Vec<(Kind, BoxedStrategy<Cell>)>) -> impl Strategy<Value = Trial> {
    let (kinds, values): (Vec<Kind>, Vec<_>) = columns.into_iter().unzip();
    let cells: Vec<_> = values
        .into_iter()
        .map(|value| prop_oneof![1 => Just(Cell::Null), 4 => value])
        .collect();
    let time = prop_oneof![8 => -3..5_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    (
        prop::collection::vec((0..WINDOWS, time, cells), 0..40),
        any::<u64>(),
    )
        .prop_map(move |(rows, seed)| {
            let mut seq_nos: Vec<u64> = (0..rows.len() as u64)
                .map(|place| place * (u64::MAX / 64))
                .collect();
            Random(seed).shuffle(&mut seq_nos);
            let event = |((key, time, cells), seq_no)| Event {
                key,
                time,
                seq_no,
                cells,
            };
            Trial {
                kinds: kinds.clone(),
                events: rows.into_iter().zip(seq_nos).map(event).collect(),
                seed,
            }
        })
}

/// Rows of any values of these kinds.
pub(crate) fn trial(kinds: &[Kind]) -> impl Strategy<Value = Trial> + use<> {
    trial_of(kinds.iter().map(|&kind| (kind, value(kind))).collect())
}

/// Choices that follow from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}
