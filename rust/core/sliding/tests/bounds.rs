//! The sliding operator at its bounds: close time, 1970, resolution, lengths.

use crate::core::operator::change::Emit;
use crate::core::operator::stream_time::Source;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows::SlidingWindows;
use crate::core::time::{Span, Time};

use crate::core::sliding::tests::sliding_operator::{Answers, Table, at, record, rule};
use crate::core::tests::window_members::Members;

#[test]
fn a_window_on_the_close_time_is_open() {
    // d = 10, grace 2, [0, 10]: closes when T > 12
    for (time, finals) in [(11, 0), (12, 0), (13, 1)] {
        let mut slides = SlidingOperator::new(rule(10, 2, Emit::Close), 1).unwrap();
        let (mut states, mut run) = (Members::default(), Answers::default());
        let events = [(0, 10)];
        slides
            .push(record(0, &events[0]), &mut states, &mut run.sink(&events))
            .unwrap();
        slides
            .tick(
                Some(0),
                Some(Source(0)),
                Some(Time(time)),
                &mut states,
                &mut run.sink(&events),
            )
            .unwrap();
        assert_eq!(run.finals.len(), finals, "{time}");
    }
}

#[test]
fn windows_do_not_cross_1970() {
    // d = 10:   -5         0    3
    //   ├───────x┤         ├────x──────┤
    let run = Answers::of(rule(10, 100, Emit::Close), &[(0, -5), (0, 3), (0, -2)]);
    let expected = [
        ((0, -15), vec![0]),
        ((0, -12), vec![0, 2]),
        ((0, -4), vec![2]),
        ((0, 0), vec![1]),
    ];
    assert_eq!(run.finals, Table::from(expected));
}

#[test]
fn times_are_floored_for_windows_only() {
    // resolution 10, d = 20: 25 and 29 are both at 20; 30 is a tick later
    let rule = at(10, rule(20, 100, Emit::Close));
    let run = Answers::of(rule, &[(0, 29), (0, 25), (0, 30)]);
    assert_eq!(
        run.finals,
        Table::from([
            ((0, 0), vec![0, 1]),
            ((0, 10), vec![0, 1, 2]),
            ((0, 30), vec![2])
        ])
    );
}

#[test]
fn lengths_that_do_not_fit_together_are_refused() {
    for (until, fine) in [(21, false), (22, true), (23, true)] {
        assert_eq!(
            SlidingOperator::new(
                SlidingWindows {
                    until: Some(Span(until)),
                    ..rule(10, 2, Emit::Close)
                },
                1
            )
            .is_ok(),
            fine,
            "{until}"
        );
    }
    assert!(SlidingOperator::new(rule(0, 2, Emit::Close), 1).is_err());
    assert!(SlidingOperator::new(at(4, rule(10, 4, Emit::Close)), 1).is_err());
    assert!(SlidingOperator::new(at(5, rule(10, 4, Emit::Close)), 1).is_err());
    assert!(SlidingOperator::new(at(0, rule(10, 4, Emit::Close)), 1).is_err());
}
