//! Queries of a store against those of a naive sorted list, forward and backward.

use crate::core::store::{SessionEntry, SessionStore, WindowEntry, WindowStore};
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

use crate::core::store::tests::store::Naive;

/// Forward as expected, backward its exact reverse.
macro_rules! assert_both_ways {
    ($read:expr, $expected:expr) => {{
        let expected: Vec<_> = $expected;
        assert_eq!($read.collect::<Vec<_>>(), expected);
        let mut backward: Vec<_> = $read.rev().collect();
        backward.reverse();
        assert_eq!(backward, expected, "backward is the exact reverse");
    }};
}

/// Ranges of times, some of them empty or reversed.
const TIMES: [(i64, i64); 6] = [
    (-10, 10),
    (0, 0),
    (10, -10),
    (i64::MIN, i64::MAX),
    (i64::MAX, i64::MIN),
    (5, 30),
];

pub(crate) fn compare_sessions(store: &SessionStore, naive: &Naive<SessionEntry>) {
    let visible = naive.visible();
    for (earliest, latest) in TIMES {
        let overlaps =
            |session: &Extent| session.end >= Time(earliest) && session.start <= Time(latest);
        for (from, to) in ranges() {
            let within = |other: &[u8]| {
                from.is_none_or(|from| from <= other) && to.is_none_or(|to| other <= to)
            };
            let expected: Vec<_> = visible
                .iter()
                .copied()
                .filter(|(other, session)| within(other) && overlaps(&session.extent))
                .collect();
            assert_both_ways!(
                store.find_sessions(from, to, Time(earliest), Time(latest)),
                expected
            );
        }
        let reaches = |session: &SessionEntry| {
            (Time(earliest)..=Time(latest)).contains(&session.extent.reach)
        };
        let expected = Naive::by_id(
            visible
                .iter()
                .copied()
                .filter(|(_, session)| reaches(session))
                .collect(),
        );
        assert_both_ways!(store.find_closed(Time(earliest), Time(latest)), expected);
    }
    for &(name, session) in &visible {
        let Extent { start, end, .. } = session.extent;
        let only = || (Some(name), Some(name));
        assert_both_ways!(
            store.fetch_sessions(only().0, only().1, start, end),
            vec![(name, session)]
        );
        let later = end.saturating_add(Span(100));
        assert_eq!(
            store
                .fetch_sessions(only().0, only().1, start, later)
                .count(),
            0
        );
        let all: Vec<_> = visible
            .iter()
            .copied()
            .filter(|(_, other)| other.window() == session.window())
            .collect();
        assert_both_ways!(store.fetch_sessions(None, None, start, end), all);
    }
}

/// A key, or an open side.
type Side = Option<&'static [u8]>;

/// Closed, open on a side, reversed, unknown bounds.
fn ranges() -> [(Side, Side); 8] {
    [
        (None, None),
        (Some(b""), Some(b"")),
        (Some(b"a"), Some(b"a")),
        (Some(b"a"), Some(b"ab")),
        (Some(b"ab"), Some(b"a")),
        (Some(b"a\0\0"), None),
        (None, Some(b"a")),
        (Some(b"b"), Some(b"c")),
    ]
}

pub(crate) fn compare_windows(store: &WindowStore, naive: &Naive<WindowEntry>) {
    let visible = naive.visible();
    for (from, to) in TIMES {
        let (from, to) = (Time(from), Time(to));
        let started: Vec<_> = visible
            .iter()
            .copied()
            .filter(|(_, window)| from <= window.start && window.start <= to)
            .collect();
        assert_both_ways!(store.find_closed(from, to), Naive::by_id(started.clone()));
        for (first, last) in ranges() {
            let within = |other: &[u8]| {
                first.is_none_or(|first| first <= other) && last.is_none_or(|last| other <= last)
            };
            let expected = started
                .iter()
                .copied()
                .filter(|(other, _)| within(other))
                .collect();
            assert_both_ways!(store.fetch_range((first, last), from, to), expected);
        }
    }
}
