//! The record operators with the built-in aggregates: one path equals the other.

use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::batch_states::BatchStates;
use crate::core::aggregate::functions::count::Count;
use crate::core::aggregate::functions::min_max::MinMax;
use crate::core::aggregate::functions::sum::Sum;
use crate::core::aggregate::scalar::Scalar;
use crate::core::operator::change::WindowChange;
use crate::core::operator::record::Record;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows as session;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows as sliding;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use proptest::prelude::*;

/// Start, end, count, sum, max.
type Row = (i64, i64, i64, i64, i64);

fn accumulators() -> Accumulators {
    Accumulators::new([
        (Box::new(Count::default()) as _, 0..0),
        (Box::new(Sum::<i64>::new(0)) as _, 0..1),
        (Box::new(MinMax::<i64, true>::default()) as _, 0..1),
    ])
}

fn row(change: WindowChange, states: &BatchStates<'_>) -> Row {
    let lowered = states
        .accumulators()
        .lower(&[change.slot.unwrap()])
        .unwrap();
    let values: Vec<i64> = lowered
        .columns
        .iter()
        .map(|column| i64::view(column).unwrap().value(0))
        .collect();
    (
        change.window.start.0,
        change.window.end.0,
        values[0],
        values[1],
        values[2],
    )
}

/// Count, sum and max of the values in a window, by hand.
fn of(start: i64, end: i64, records: &[(i64, i64)]) -> Row {
    let inside: Vec<i64> = records
        .iter()
        .filter(|&&(time, _)| (start..=end).contains(&time))
        .map(|&(_, value)| value)
        .collect();
    (
        start,
        end,
        inside.len() as i64,
        inside.iter().sum(),
        inside.into_iter().max().unwrap(),
    )
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn built_in_aggregates_follow_the_windows(records in prop::collection::vec((100..160_i64, -50..50_i64), 1..30), length in 1..9_u64) {
        let times: Vec<Time> = records.iter().map(|&(time, _)| Time(time)).collect();
        let seq_nos: Vec<u64> = (0..records.len() as u64).collect();
        let values: Vec<i64> = records.iter().map(|&(_, value)| value).collect();
        let inputs = [i64::dense(values)];
        let record = |number: u32| {
            let extent = Extent::of(times[number as usize], Span(length));
            Record::of(b"k".as_slice(), extent, number)
        };

        let mut sessions = SessionOperator::new(session::SessionWindows::with_gap(Span(length), None), 1).unwrap();
        let mut slides = SlidingOperator::new(sliding::SlidingWindows::with_difference(Span(length), None), 1).unwrap();
        let (mut of_sessions, mut of_slides) = (accumulators(), accumulators());
        let mut finals = (Vec::new(), Vec::new());
        let mut states = BatchStates::new(&mut of_sessions, &times, &seq_nos, &inputs);
        let mut sink = |_: &[u8], change: WindowChange, states: &mut BatchStates<'_>| { finals.0.push(row(change, states)); Ok(()) };
        for number in 0..records.len() as u32 {
            sessions.push(record(number), &mut states, &mut sink).unwrap();
        }
        sessions.finish(&mut states, &mut sink).unwrap();
        let mut states = BatchStates::new(&mut of_slides, &times, &seq_nos, &inputs);
        let mut sink = |_: &[u8], change: WindowChange, states: &mut BatchStates<'_>| { finals.1.push(row(change, states)); Ok(()) };
        for number in 0..records.len() as u32 {
            slides.push(record(number), &mut states, &mut sink).unwrap();
        }
        slides.finish(&mut states, &mut sink).unwrap();

        for finals in [&finals.0, &finals.1] {
            prop_assert!(!finals.is_empty());
            for &(start, end, ..) in finals {
                prop_assert!(finals.contains(&of(start, end, &records)));
            }
        }
        let counted: i64 = finals.0.iter().map(|row| row.2).sum();
        prop_assert_eq!(counted, records.len() as i64, "every record is in one session");
    }
}
