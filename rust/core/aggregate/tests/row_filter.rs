//! Aggregates of one input of a cogroup see its rows alone, and those with a condition the rows
//! that meet it.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::functions::collect_list::CollectList;
use crate::core::aggregate::functions::collect_set::CollectSet;
use crate::core::aggregate::functions::count::Count;
use crate::core::aggregate::functions::first_last::FirstLast;
use crate::core::aggregate::functions::min_max::MinMax;
use crate::core::aggregate::functions::min_max_by::MinMaxBy;
use crate::core::aggregate::functions::sum::Sum;
use crate::core::aggregate::functions::variance::{Spread, Variance};
use crate::core::aggregate::row_filter::RowFilter;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::{Aggregate, InputRows, RowSpan};
use crate::core::interrupt::Interrupt;
use proptest::prelude::*;

use crate::core::aggregate::tests::trial::{
    Cell, Event, Input, Kind, Random, Trial, WINDOWS, cells, same, trial_of, value,
};

type Bytes = Box<[u8]>;
type Part = (Box<dyn Aggregate>, Range<usize>, RowFilter);

/// Over a column of integers, one of bytes, one of flags, and the column of inputs.
const KINDS: [Kind; 4] = [Kind::Int, Kind::Bytes, Kind::Int, Kind::Int];

fn aggregates() -> Vec<(Box<dyn Aggregate>, Range<usize>)> {
    vec![
        (Box::new(Count::default()), 0..0),
        (Box::new(Count::default()), 1..2),
        (Box::new(Sum::<i64>::new(0)), 0..1),
        (Box::new(MinMax::<i64, true>::default()), 0..1),
        (Box::new(FirstLast::<Bytes, false>::new(false)), 1..2),
        (Box::new(FirstLast::<Bytes, false>::new(true)), 1..2),
        (Box::new(FirstLast::<i64, true>::new(false)), 0..1),
        (Box::new(FirstLast::<i64, true>::new(true)), 0..1),
        (Box::new(CollectList::<i64>::default()), 0..1),
        (Box::new(CollectSet::<Bytes>::default()), 1..2),
        (Box::new(MinMaxBy::<i64, Bytes, false>::default()), 0..2),
        (
            Box::new(Variance::<i64>::new(Spread {
                population: true,
                root: false,
                scale: 1.0,
            })),
            0..1,
        ),
    ]
}

/// Each aggregate six times: of all inputs, of the first and of the second, with and without a
/// flag.
fn parts() -> Vec<Part> {
    let inputs = [None, Some(0), Some(1)];
    let filters = inputs.into_iter().flat_map(|input| {
        [None, Some(2)]
            .into_iter()
            .map(move |column| RowFilter { input, column })
    });
    filters
        .flat_map(|filter| {
            aggregates()
                .into_iter()
                .map(move |(states, columns)| (states, columns, filter))
        })
        .collect()
}

/// Rows of three inputs, two of which the accumulators read, and of none.
fn trials() -> impl Strategy<Value = Trial> {
    let small = |values: Range<i64>| (Kind::Int, values.prop_map(Cell::Int).boxed());
    trial_of(vec![
        small(-3..4),
        (Kind::Bytes, value(Kind::Bytes)),
        small(0..2),
        small(0..3),
    ])
}

fn is_seen(event: &Event, filter: RowFilter) -> bool {
    let holds = |place: usize, wanted: i64| matches!(event.cells[place], Cell::Int(number) if number == wanted);
    filter.input.is_none_or(|input| holds(3, input.into()))
        && filter.column.is_none_or(|column| holds(column, 1))
}

/// The results of an aggregate over only the rows that it sees, each in its slot.
fn alone(
    (mut states, columns, filter): Part,
    slots: &[u32],
    events: &[Event],
    windows: usize,
) -> Vec<Cell> {
    let (slots, own): (Vec<Slot>, Vec<Event>) = slots
        .iter()
        .zip(events)
        .filter(|(_, event)| is_seen(event, filter))
        .map(|(&slot, event)| (Slot(slot), event.clone()))
        .unzip();
    let input = Input::new(&KINDS, &own);
    states.resize(windows);
    states
        .update(
            &slots,
            InputRows {
                inputs: &input.columns[columns],
                ..input.rows()
            },
        )
        .unwrap();
    cells(
        &states
            .lower(&(0..windows as u32).map(Slot).collect::<Vec<_>>())
            .unwrap(),
    )
}

fn agree(got: &[ArrayRef], expected: &[Vec<Cell>]) -> bool {
    got.len() == expected.len()
        && got
            .iter()
            .zip(expected)
            .all(|(got, expected)| same(&Cell::List(cells(got)), &Cell::List(expected.clone())))
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_an_aggregate_of_an_input_sees_its_rows_alone(trial in trials(), cut in 0..40_usize) {
        let slots: Vec<u32> = trial.events.iter().map(|event| event.key as u32).collect();
        let mut accumulators = Accumulators::filtered(parts());
        accumulators.resize(WINDOWS);
        let cut = cut.min(slots.len());
        for rows in [0..cut, cut..slots.len()] {
            let input = Input::new(&trial.kinds, &trial.events[rows.clone()]);
            let into: Vec<Slot> = slots[rows].iter().copied().map(Slot).collect();
            accumulators.update(&into, &input.times, &input.seq_nos, &input.columns).unwrap();
        }
        let all: Vec<Slot> = (0..WINDOWS as u32).map(Slot).collect();
        let loaded = accumulators.load(&accumulators.save(&all)).unwrap();
        let expected: Vec<Vec<Cell>> = parts().into_iter().map(|part| alone(part, &slots, &trial.events, WINDOWS)).collect();
        prop_assert!(agree(&accumulators.lower(&all).unwrap().columns, &expected));
        prop_assert!(agree(&loaded.lower(&all).unwrap().columns, &expected));
        let mut lifted = accumulators.fresh();
        lifted.resize(WINDOWS);
        let input = Input::new(&trial.kinds, &trial.events);
        for (row, &slot) in slots.iter().enumerate() {
            lifted.lift(Slot(slot), row, &input.times, &input.seq_nos, &input.columns).unwrap();
        }
        prop_assert!(agree(&lifted.lower(&all).unwrap().columns, &expected), "row by row");
        let mut fresh = accumulators.fresh();
        fresh.resize(WINDOWS);
        let input = Input::new(&trial.kinds, &trial.events);
        fresh.update(&slots.iter().copied().map(Slot).collect::<Vec<_>>(), &input.times, &input.seq_nos, &input.columns).unwrap();
        prop_assert!(agree(&fresh.lower(&all).unwrap().columns, &expected), "fresh accumulators have the same inputs");
    }

    #[test]
    fn oracle_a_sweep_of_an_input_sees_its_rows_alone(trial in trials(), most in 0..12_usize) {
        let mut events = trial.events.clone();
        events.sort_by_key(|event| (event.time, event.seq_no));
        let random = &mut Random(trial.seed);
        let mut bounds = |count: usize| {
            let mut bounds: Vec<u32> = (0..count).map(|_| random.below(events.len() + 1) as u32).collect();
            bounds.sort_unstable();
            bounds
        };
        let runs: Vec<RowSpan> = bounds(most).into_iter().zip(bounds(most)).map(|(from, to)| RowSpan { from, to: to.max(from) }).collect();
        let input = Input::new(&trial.kinds, &events);
        let accumulators = Accumulators::filtered(parts());
        let swept = accumulators.sweep(&input.times, &input.seq_nos, &input.columns, &runs, &Interrupt::never()).unwrap().columns;
        let within = |(slot, run): (usize, &RowSpan)| (run.from..run.to).map(move |row| (slot as u32, row));
        let (slots, members): (Vec<u32>, Vec<Event>) =
            runs.iter().enumerate().flat_map(within).map(|(slot, row)| (slot, events[row as usize].clone())).unzip();
        let expected: Vec<Vec<Cell>> = parts().into_iter().map(|part| alone(part, &slots, &members, runs.len())).collect();
        prop_assert!(agree(&swept, &expected), "{runs:?}");
    }
}

fn of_input_0() -> RowFilter {
    RowFilter {
        input: Some(0),
        column: None,
    }
}

#[test]
fn a_filter_without_its_column_is_an_error() {
    let flagged = RowFilter {
        input: None,
        column: Some(0),
    };
    is_refused(of_input_0());
    is_refused(flagged);
}

fn is_refused(filter: RowFilter) {
    let part: Part = (Box::new(Count::default()), 0..0, filter);
    let mut accumulators = Accumulators::filtered([part]);
    accumulators.resize(1);
    assert!(accumulators.update(&[Slot(0)], &[], &[], &[]).is_err());
    assert!(accumulators.lift(Slot(0), 0, &[], &[], &[]).is_err());
    assert!(
        accumulators
            .sweep(
                &[],
                &[],
                &[],
                &[RowSpan { from: 0, to: 1 }],
                &Interrupt::never()
            )
            .is_err()
    );
}

#[test]
fn a_row_without_an_input_is_of_none() {
    let part: Part = (Box::new(Count::default()), 0..0, of_input_0());
    let mut accumulators = Accumulators::filtered([part]);
    accumulators.resize(1);
    let numbers = i64::column([None, Some(0)].into_iter());
    let (slots, places) = ([Slot(0); 2], [crate::core::time::Time(0); 2]);
    accumulators
        .update(&slots, &places, &[0; 2], std::slice::from_ref(&numbers))
        .unwrap();
    accumulators
        .lift(Slot(0), 0, &places, &[0; 2], std::slice::from_ref(&numbers))
        .unwrap();
    assert!(same(
        &cells(&accumulators.lower(&[Slot(0)]).unwrap().columns[0])[0],
        &Cell::Int(1)
    ));
}
