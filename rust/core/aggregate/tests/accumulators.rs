//! Accumulators: several aggregates over shared slots.

use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::functions::collect_list::CollectList;
use crate::core::aggregate::functions::count::Count;
use crate::core::aggregate::functions::min_max_by::MinMaxBy;
use crate::core::aggregate::functions::sum::Sum;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::window_results::{Overflow, WindowResults};
use crate::core::aggregate::{Aggregate, InputRows, RowSpan};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use proptest::prelude::*;

use crate::core::aggregate::tests::trial::{Cell, Event, Input, Kind, WINDOWS, cells, same, trial};

/// count(), sum(a), `max_by`(a, b), `collect_list`(b): the sum and `max_by` share the column a.
fn aggregates() -> [(Box<dyn Aggregate>, std::ops::Range<usize>); 4] {
    [
        (Box::new(Count::default()), 0..0),
        (Box::new(Sum::<i64>::new(0)), 0..1),
        (Box::new(MinMaxBy::<i64, Box<[u8]>, true>::default()), 0..2),
        (Box::new(CollectList::<Box<[u8]>>::default()), 1..2),
    ]
}

fn update(accumulators: &mut Accumulators, slots: &[Slot], events: &[Event]) {
    let input = Input::new(&[Kind::Int, Kind::Bytes], events);
    accumulators
        .update(slots, &input.times, &input.seq_nos, &input.columns)
        .unwrap();
}

fn slots_of(events: &[Event]) -> Vec<Slot> {
    events.iter().map(|event| Slot(event.key as u32)).collect()
}

fn rows(lowered: Result<WindowResults>) -> Result<Vec<Vec<Cell>>> {
    Ok(lowered?.columns.iter().map(cells).collect())
}

fn agree(left: &Result<Vec<Vec<Cell>>>, right: &Result<Vec<Vec<Cell>>>) -> bool {
    match (left, right) {
        (Ok(left), Ok(right)) => same(&lists(left), &lists(right)),
        (Err(left), Err(right)) => position(left) == position(right),
        _ => false,
    }
}

/// Aggregate and window of a result that does not fit.
fn position(error: &Error) -> (usize, usize) {
    match error {
        Error::ResultOverflow {
            aggregate, window, ..
        } => (*aggregate, *window),
        other => panic!("{other}"),
    }
}

fn lists(columns: &[Vec<Cell>]) -> Cell {
    Cell::List(columns.iter().cloned().map(Cell::List).collect())
}

fn event(number: i64, bytes: &[u8]) -> Event {
    Event {
        key: 0,
        time: number,
        seq_no: 0,
        cells: vec![Cell::Int(number), Cell::Bytes(bytes.to_vec())],
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn accumulators_do_to_all_what_each_aggregate_does_alone(trial in trial(&[Kind::Int, Kind::Bytes]), cut in 0..40_usize) {
        let slots: Vec<Slot> = (0..WINDOWS as u32).map(Slot).collect();
        let input = Input::new(&trial.kinds, &trial.events);
        let mut alone: Result<Vec<Vec<Cell>>> = Ok(Vec::new());
        for (aggregate, (mut states, inputs)) in aggregates().into_iter().enumerate() {
            states.resize(WINDOWS);
            let rows = InputRows { inputs: &input.columns[inputs], ..input.rows() };
            states.update(&slots_of(&trial.events), rows).unwrap();
            alone = alone.and_then(|mut columns| {
                columns.push(cells(&states.lower(&slots).map_err(|error| match error {
                    Error::ResultOverflow { window, reason, .. } => Error::ResultOverflow { aggregate, window, reason },
                    other => other,
                })?));
                Ok(columns)
            });
        }

        let (early, late) = trial.events.split_at(cut.min(trial.events.len()));
        let mut accumulators = Accumulators::new(aggregates());
        accumulators.resize(WINDOWS);
        update(&mut accumulators, &slots_of(early), early);
        let mut other = accumulators.fresh();
        other.resize(WINDOWS);
        update(&mut other, &slots_of(late), late);
        let mut loaded = accumulators.load(&accumulators.save(&slots)).unwrap();
        loaded.merge(&slots, &other.load(&other.save(&slots)).unwrap(), &slots).unwrap();
        update(&mut accumulators, &slots_of(late), late);
        prop_assert!(agree(&rows(accumulators.lower(&slots)), &alone));
        prop_assert!(agree(&rows(loaded.lower(&slots)), &alone));

        let mut saved = accumulators.save(&slots);
        saved.push(saved[0].clone());
        prop_assert!(accumulators.load(&saved).is_err(), "a column too many");
        saved.truncate(saved.len() - 2);
        prop_assert!(accumulators.load(&saved).is_err(), "a column is missing");
    }
}

#[test]
fn a_released_slot_is_allocated_again_and_empty() {
    let mut accumulators = Accumulators::new(aggregates());
    let slots: Vec<Slot> = (0..100).map(|_| accumulators.allocate().unwrap()).collect();
    assert_eq!(slots, (0..100).map(Slot).collect::<Vec<_>>());
    update(
        &mut accumulators,
        &[Slot(41), Slot(42), Slot(99)],
        &[event(1, b"a"), event(2, b"b"), event(3, b"c")],
    );
    accumulators.release(Slot(42));
    assert_eq!(accumulators.allocate().unwrap(), Slot(42));
    assert_eq!(accumulators.allocate().unwrap(), Slot(100));
    let got = rows(accumulators.lower(&[Slot(41), Slot(42), Slot(99), Slot(100)])).unwrap();
    assert!(
        same(
            &Cell::List(got[0].clone()),
            &Cell::List([1, 0, 1, 0].map(Cell::Int).to_vec())
        ),
        "{got:?}"
    );
    assert!(
        matches!(
            got[1][..],
            [Cell::Int(1), Cell::Null, Cell::Int(3), Cell::Null]
        ),
        "{got:?}"
    );
}

#[test]
fn accumulators_grow_next_to_allocated_slots() {
    let mut accumulators = Accumulators::new(aggregates());
    accumulators.resize(5);
    assert_eq!(accumulators.allocate().unwrap(), Slot(5));
    accumulators.resize(2);
    assert_eq!(
        (accumulators.len(), accumulators.allocate().unwrap()),
        (6, Slot(6))
    );
    update(&mut accumulators, &[Slot(6)], &[event(7, b"")]);
    accumulators.copy(Slot(0), Slot(6));
    accumulators.clear(Slot(6));
    let got = rows(accumulators.lower(&[Slot(0), Slot(6)])).unwrap();
    assert!(matches!(got[1][..], [Cell::Int(7), Cell::Null]), "{got:?}");
}

#[test]
fn an_overflow_names_aggregate_and_window() {
    let mut accumulators = Accumulators::new(aggregates());
    accumulators.resize(2);
    let events = [event(0, b""), event(i64::MAX, b""), event(1, b"")];
    update(&mut accumulators, &[Slot(0), Slot(1), Slot(1)], &events);
    let overflow = accumulators.lower(&[Slot(0), Slot(1)]).unwrap_err();
    assert_eq!(position(&overflow), (1, 1));
    let input = Input::new(&[Kind::Int, Kind::Bytes], &events);
    let runs = [RowSpan { from: 0, to: 2 }, RowSpan { from: 1, to: 3 }];
    let overflow = accumulators
        .sweep(
            &input.times,
            &input.seq_nos,
            &input.columns,
            &runs,
            &Interrupt::never(),
        )
        .unwrap_err();
    assert_eq!(position(&overflow), (1, 1));
    let columns = accumulators
        .sweep(
            &input.times,
            &input.seq_nos,
            &input.columns,
            &runs[..1],
            &Interrupt::never(),
        )
        .unwrap();
    assert_eq!(
        columns
            .columns
            .iter()
            .map(|column| column.len())
            .collect::<Vec<_>>(),
        [1; 4]
    );
}

#[test]
fn a_result_that_does_not_fit_may_be_null_and_is_then_counted() {
    // Every third window of 100 overflows.
    let overflows = |window: u32| window.is_multiple_of(3);
    let (mut slots, mut events, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for window in 0..100_u32 {
        let large = if overflows(window) { i64::MAX } else { 1 };
        events.extend([event(large, b""), event(1, b"")]);
        slots.extend([Slot(window); 2]);
        runs.push(RowSpan {
            from: 2 * window,
            to: 2 * window + 2,
        });
    }
    let mut accumulators = Accumulators::new(aggregates()).with_overflow(Overflow::Null);
    accumulators.resize(100);
    update(&mut accumulators, &slots, &events);
    let all = Slot::below(100).unwrap();
    let input = Input::new(&[Kind::Int, Kind::Bytes], &events);
    let never = Interrupt::never();
    let (times, numbers, columns) = (&input.times, &input.seq_nos, &input.columns);
    for results in [
        accumulators.lower(&all).unwrap(),
        accumulators
            .fresh()
            .sweep(times, numbers, columns, &runs, &never)
            .unwrap(),
        accumulators
            .load(&accumulators.save(&all))
            .unwrap()
            .lower(&all)
            .unwrap(),
    ] {
        assert_eq!(results.overflows, 34);
        let got = rows(Ok(results)).unwrap();
        assert!(got.iter().all(|column| column.len() == 100));
        for (window, sum) in (0..).zip(&got[1]) {
            match sum {
                Cell::Null => assert!(overflows(window), "{window}"),
                Cell::Int(sum) => assert!(!overflows(window) && *sum == 2, "{window}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(got[0].iter().all(|count| matches!(count, Cell::Int(2))));
    }
}

#[test]
fn a_column_that_is_not_there_is_an_error() {
    let mut accumulators = Accumulators::new(aggregates());
    accumulators.resize(1);
    let input = Input::new(&[Kind::Int], &[]);
    assert!(
        accumulators
            .update(&[], &input.times, &input.seq_nos, &input.columns)
            .is_err()
    );
    assert!(
        accumulators
            .sweep(
                &input.times,
                &input.seq_nos,
                &input.columns,
                &[],
                &Interrupt::never()
            )
            .is_err()
    );
    assert!(
        accumulators
            .merge(&[], &Accumulators::new([]), &[])
            .is_err()
    );
}
