//! Stream time: what moves it, and what it closes.

use crate::core::operator::stream_time::{Progress, Source, StreamTime, StreamTimes};
use crate::core::time::{Span, Time};

/// Nothing is late, closed or hidden.
const START: StreamTimes = StreamTimes {
    time: None,
    close: Time::MIN,
    input_close: Time::MIN,
    own: None,
};

#[test]
fn it_is_the_largest_time_less_the_grace() {
    let mut time = StreamTime::new(1, Some(Span(10)), Span(1));
    assert_eq!(time.now(0), START);
    for (seen, expected) in [(100, 100), (90, 100), (101, 101)] {
        time.observe(0, Source(0), Time(seen));
        let close = Time(expected - 10);
        assert_eq!(
            time.now(0),
            StreamTimes {
                time: Some(Time(expected)),
                close,
                input_close: close,
                own: Some(Time(expected))
            }
        );
    }
}

#[test]
fn it_is_floored_to_the_resolution() {
    for (seen, expected) in [(19, 10), (20, 20), (21, 20), (-1, -10), (-10, -10)] {
        let mut time = StreamTime::new(1, Some(Span(0)), Span(10));
        time.observe(0, Source(0), Time(seen));
        assert_eq!(time.slowest().time, Some(Time(expected)), "{seen}");
    }
}

#[test]
fn the_slowest_source_holds_it_and_a_new_source_behind_does_not_turn_it_back() {
    let mut time = StreamTime::new(1, Some(Span(0)), Span(1));
    time.observe(0, Source(1), Time(50));
    time.observe(0, Source(0), Time(40));
    assert_eq!(time.slowest().time, Some(Time(50)), "already there");
    time.observe(0, Source(0), Time(70));
    assert_eq!(time.slowest().time, Some(Time(50)));
    time.observe(0, Source(1), Time(60));
    assert_eq!(time.slowest().time, Some(Time(60)));
    time.observe_all(0, Time(65));
    assert_eq!(time.slowest().time, Some(Time(65)));
}

#[test]
fn lateness_is_by_the_own_input_closing_by_the_slowest() {
    let mut time = StreamTime::new(2, Some(Span(0)), Span(1));
    time.observe(0, Source(0), Time(100));
    assert_eq!(
        time.now(0),
        StreamTimes {
            time: None,
            close: Time::MIN,
            input_close: Time(100),
            own: Some(Time(100))
        }
    );
    assert_eq!(time.now(1), START);
    time.observe(1, Source(0), Time(30));
    assert_eq!(
        time.now(0),
        StreamTimes {
            time: Some(Time(30)),
            close: Time(30),
            input_close: Time(100),
            own: Some(Time(100))
        }
    );
    assert_eq!(
        time.now(1),
        StreamTimes {
            time: Some(Time(30)),
            close: Time(30),
            input_close: Time(30),
            own: Some(Time(30))
        }
    );
}

#[test]
fn a_larger_grace_opens_nothing_again() {
    let mut time = StreamTime::new(1, Some(Span(5)), Span(1));
    time.observe(0, Source(0), Time(100));
    let saved: Vec<Progress> = time.progress().to_vec();
    let mut time = StreamTime::new(1, Some(Span(50)), Span(1));
    time.resume(saved);
    for (seen, close) in [(100, 95), (140, 95), (145, 95), (146, 96)] {
        time.observe(0, Source(0), Time(seen));
        assert_eq!(time.slowest().close, Time(close), "{seen}");
    }
}

#[test]
fn without_a_grace_nothing_closes() {
    let mut time = StreamTime::new(1, None, Span(1));
    time.observe(0, Source(0), Time::MAX);
    assert_eq!(
        time.slowest(),
        StreamTimes {
            time: Some(Time::MAX),
            close: Time::MIN,
            input_close: Time::MIN,
            own: Some(Time::MAX)
        }
    );
}
