//! Bounds: one below, on, one above.

use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon, Window, close_time, starts_closed_before};

#[test]
fn extents_join_up_to_the_reach_inclusive() {
    let session = Extent {
        start: Time(10),
        end: Time(20),
        reach: Time(25),
    };
    for (time, joins) in [
        (4, false),
        (5, true),
        (6, true),
        (24, true),
        (25, true),
        (26, false),
    ] {
        let record = Extent::of(Time(time), Span(5));
        assert_eq!(
            (session.joins(&record), record.joins(&session)),
            (joins, joins),
            "{time}"
        );
    }
    for (time, past) in [(4, true), (5, false), (26, false)] {
        assert_eq!(
            session.is_past(&Extent::of(Time(time), Span(5))),
            past,
            "{time}"
        );
    }
}

#[test]
fn a_session_is_late_when_its_reach_is_behind_the_close_time() {
    let session = Extent::of(Time(10), Span(5));
    for (close, late) in [(14, false), (15, false), (16, true)] {
        assert_eq!(session.is_late(Time(close)), late, "{close}");
    }
    assert!(
        !Extent::of(Time::MIN, Span(0)).is_late(Time::MIN),
        "no stream time, nothing late"
    );
    assert!(!Extent::of(Time::MAX, Span(5)).is_late(Time::MAX));
}

#[test]
fn a_sliding_window_is_late_when_its_end_is_behind_the_close_time() {
    let window = Window::sliding(Time(10), Span(5));
    for (close, late) in [(14, false), (15, false), (16, true)] {
        assert_eq!(window.is_late(Time(close)), late, "{close}");
        assert_eq!(
            Time(10) < starts_closed_before(Time(close), Span(5)),
            late,
            "{close}"
        );
    }
    assert!(
        !Window::sliding(Time::MAX, Span(5)).is_late(Time::MAX),
        "its end lies past every time"
    );
    assert_eq!(starts_closed_before(Time::MIN, Span(5)), Time::MIN);
}

#[test]
fn closed_sessions_are_visible_while_they_end_after_time_less_until() {
    let session = |end| Extent::of(Time(end), Span(5));
    let horizon = |until| Horizon::of_sessions(Some(Time(100)), Time(90), until);
    for (end, open, kept) in [
        (79, false, false),
        (80, false, false),
        (81, false, true),
        (84, false, true),
        (85, true, true),
        (86, true, true),
    ] {
        assert_eq!(session(end).is_visible(horizon(None)), open, "{end}");
        assert_eq!(
            session(end).is_visible(horizon(Some(Span(20)))),
            kept,
            "{end}"
        );
    }
    assert!(session(i64::MIN).is_visible(Horizon::of_sessions(None, Time::MIN, Some(Span(20)))));
}

#[test]
fn sliding_windows_are_visible_while_they_start_after_time_less_retention() {
    let horizon = Horizon::of_windows(Some(Time(100)), Time(90), Span(30), Span(10));
    for (start, shown) in [(69, false), (70, false), (71, true)] {
        assert_eq!(horizon.shows(Time(start)), shown, "{start}");
    }
    let horizon = Horizon::of_windows(Some(Time(i64::MIN + 29)), Time::MIN, Span(30), Span(10));
    assert!(
        horizon.shows(Time::MIN),
        "the difference lies before every time"
    );
    let horizon = Horizon::of_windows(
        Some(Time(i64::MIN + 30)),
        Time(i64::MIN + 30),
        Span(30),
        Span(10),
    );
    assert!(!horizon.shows(Time::MIN));
}

#[test]
fn open_sliding_windows_are_visible_wherever_they_start() {
    // Windows closed before 60 were judged with a longer grace than the retention of 30 covers.
    let horizon = Horizon::of_windows(Some(Time(100)), Time(60), Span(30), Span(10));
    for (start, shown) in [(49, false), (50, true), (70, true)] {
        assert_eq!(horizon.shows(Time(start)), shown, "{start}");
    }
}

#[test]
fn a_record_has_a_left_window_or_an_early_one() {
    for (time, start) in [(-11, -21), (-1, -11), (0, 0), (9, 0), (10, 0), (11, 1)] {
        let expected = Window {
            start: Time(start),
            end: Time(start + 10),
        };
        assert_eq!(
            Window::of_record(Time(time), Span(10)),
            Some(expected),
            "{time}"
        );
    }
    assert_eq!(Window::of_record(Time(i64::MIN + 9), Span(10)), None);
    assert!(Window::of_record(Time(i64::MIN + 10), Span(10)).is_some());
}

#[test]
fn close_time_never_goes_back() {
    for (time, expected) in [(104, 95), (105, 95), (106, 96)] {
        assert_eq!(close_time(Time(time), Span(10), Time(95)), Time(expected));
    }
    assert_eq!(close_time(Time::MIN, Span(10), Time::MIN), Time::MIN);
}
