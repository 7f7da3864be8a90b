//! The session operator at its bounds: gaps, close time, `until`, inputs of a cogroup, bad gaps.

use crate::core::operator::change::{Emit, WindowChange};
use crate::core::operator::record::RecordOutcome;
use crate::core::operator::stream_time::Source;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::{Gap, SessionWindows};
use crate::core::time::{Span, Time};

use crate::core::session::tests::sessions::{Answers, Event, Of, fixed, record};
use crate::core::tests::window_members::Members;

#[test]
fn a_record_exactly_the_gap_away_joins() {
    // gap 5:   10 ├────┤ 15        16 does not
    for (time, windows) in [(14, 1), (15, 1), (16, 2)] {
        let run = Answers::of(fixed(5, 100, Emit::Close), &[(0, 10, 0), (0, time, 0)]);
        assert_eq!(run.finals.len(), windows, "{time}");
    }
}

#[test]
fn with_a_gap_of_zero_only_records_of_one_time_join() {
    let run = Answers::of(
        fixed(0, 0, Emit::Close),
        &[(0, 10, 0), (0, 10, 0), (0, 11, 0)],
    );
    assert_eq!(run.finals, [(0, 10, 10, vec![0, 1]), (0, 11, 11, vec![2])]);
}

#[test]
fn a_session_on_the_close_time_is_open() {
    // gap 5, grace 2, [10, 10]: closes when T > 17
    for (time, finals) in [(16, 0), (17, 0), (18, 1)] {
        let mut sessions = SessionOperator::new(fixed(5, 2, Emit::Close), 1).unwrap();
        let (mut states, mut run) = (Members::default(), Answers::default());
        sessions
            .push(
                record(Gap::Fixed(Span(5)), 0, &(0, 10, 0)),
                &mut states,
                &mut run.sink(),
            )
            .unwrap();
        sessions
            .tick(
                Some(0),
                Some(Source(0)),
                Some(Time(time)),
                &mut states,
                &mut run.sink(),
            )
            .unwrap();
        assert_eq!(run.finals.len(), finals, "{time}");
    }
}

#[test]
fn until_revives_a_closed_session_which_is_then_final_again() {
    // gap 5, grace 0:  a@0 closes at T=11;  a@6, a@4 bridge it
    let events = [(0, 0, 0), (1, 11, 0), (0, 6, 0), (0, 4, 0), (1, 40, 0)];
    let run = Answers::of(
        SessionWindows {
            until: Some(Span(1000)),
            ..fixed(5, 0, Emit::Close)
        },
        &events,
    );
    assert_eq!(
        run.finals,
        vec![
            (0, 0, 0, vec![0]),
            (0, 0, 6, vec![0, 2, 3]),
            (1, 11, 11, vec![1]),
            (1, 40, 40, vec![4])
        ]
    );
    let run = Answers::of(fixed(5, 0, Emit::Close), &events);
    assert_eq!(
        run.finals,
        vec![
            (0, 0, 0, vec![0]),
            (0, 4, 6, vec![2, 3]),
            (1, 11, 11, vec![1]),
            (1, 40, 40, vec![4])
        ]
    );
}

#[test]
fn an_unseen_input_of_a_cogroup_holds_everything_open() {
    let mut sessions = SessionOperator::new(fixed(5, 0, Emit::Close), 2).unwrap();
    let (mut states, mut run) = (Members::default(), Answers::default());
    let mut push = |number, event: Event, input| {
        sessions
            .push(
                record(Gap::Fixed(Span(5)), number, &event).input_of(input, 0),
                &mut states,
                &mut run.sink(),
            )
            .unwrap()
    };
    assert_eq!(push(0, (0, 100, 0), 0), RecordOutcome::Accepted);
    assert_eq!(push(1, (0, 1000, 0), 0), RecordOutcome::Accepted);
    assert_eq!(
        push(2, (0, 50, 0), 0),
        RecordOutcome::Late(Span(945)),
        "by its own input"
    );
    assert_eq!(
        push(3, (0, 50, 0), 1),
        RecordOutcome::Accepted,
        "by its own input"
    );
    assert_eq!(push(4, (0, 105, 0), 1), RecordOutcome::Accepted);
    assert_eq!(push(5, (0, 500, 0), 1), RecordOutcome::Accepted);
    assert_eq!(
        run.finals,
        vec![(0, 50, 50, vec![3]), (0, 100, 105, vec![0, 4])]
    );
}

#[test]
fn retention_below_gap_and_grace_is_refused() {
    for (until, fine) in [(6, false), (7, true), (8, true)] {
        assert_eq!(
            SessionOperator::new(
                SessionWindows {
                    until: Some(Span(until)),
                    ..fixed(5, 2, Emit::Close)
                },
                1
            )
            .is_ok(),
            fine,
            "{until}"
        );
    }
}

#[test]
fn closed_sessions_leave_the_store_however_long_a_gap_may_be() {
    // Gap 5 and grace 10 of each record, one record every 10: [t, t] closes when T > t + 15.
    for longest in [Some(Span(1_000_000)), None] {
        let rule = SessionWindows {
            gap: Gap::Dynamic {
                longest,
                takes_zero: false,
            },
            ..fixed(5, 10, Emit::Close)
        };
        let mut sessions = SessionOperator::new(rule, 1).unwrap();
        let mut states = Members::default();
        let mut out = |_: &[u8], _: WindowChange, _: &mut Members| Ok(());
        for number in 0..2000 {
            let event = ((number % 200) as u8, 10 * number as i64, 5);
            sessions
                .push(record(rule.gap, number, &event), &mut states, &mut out)
                .unwrap();
            assert!(
                sessions.store().len() <= 2,
                "{number}: {}",
                sessions.store().len()
            );
        }
        assert_eq!(sessions.store().len(), sessions.store().open());
        assert_eq!(states.used(), 2);
    }
}
