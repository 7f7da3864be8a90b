//! The store equals a naive sorted list, whatever is put, removed, closed and expired.

use std::collections::BTreeMap;

use proptest::prelude::*;
use windrow::aggregate::slot::Slot;
use windrow::store::{
    Entry, SessionEntry, SessionStore, StoreKey, WindowEntry, WindowStore, WindowTable,
};
use windrow::time::{Span, Time};
use windrow::window::{Extent, Horizon};

/// Keys that are empty, prefixes of each other, or end in zero bytes.
const NAMES: [&[u8]; 5] = [b"", b"a", b"a\0", b"ab", b"\xff"];

/// What a test does to a store.
#[derive(Clone, Debug)]
enum Step {
    Put {
        key: usize,
        start: i64,
        length: i64,
        gap: i64,
    },
    Replace {
        key: usize,
        nth: usize,
        start: i64,
        length: i64,
        gap: i64,
    },
    Remove {
        key: usize,
        nth: usize,
    },
    Close {
        close: i64,
        kept: i64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put =
        (0..NAMES.len(), -40..60_i64, 0..8_i64, 0..12_i64).prop_map(|(key, start, length, gap)| {
            Step::Put {
                key,
                start,
                length,
                gap,
            }
        });
    let replace = (0..NAMES.len(), 0..6_usize, -40..60_i64, 0..8_i64, 0..12_i64).prop_map(
        |(key, nth, start, length, gap)| Step::Replace {
            key,
            nth,
            start,
            length,
            gap,
        },
    );
    let remove = (0..NAMES.len(), 0..6_usize).prop_map(|(key, nth)| Step::Remove { key, nth });
    let close = (0..9_i64, 0..30_i64).prop_map(|(close, kept)| Step::Close { close, kept });
    prop::collection::vec(
        prop_oneof![6 => put, 2 => replace, 2 => remove, 2 => close],
        0..60,
    )
}

/// A sorted list, and how far it is closed.
struct Naive<E: Entry> {
    list: BTreeMap<(&'static [u8], E::Place), E>,
    horizon: Horizon,
}

impl<E: Entry + PartialEq + std::fmt::Debug> Naive<E> {
    fn visible(&self) -> Vec<(&[u8], &E)> {
        self.list
            .iter()
            .filter(|(_, entry)| entry.is_visible(self.horizon))
            .map(|(&(name, _), entry)| (name, entry))
            .collect()
    }

    /// The place of a key's nth visible window.
    fn nth(&self, name: &[u8], nth: usize) -> Option<E::Place> {
        self.visible()
            .into_iter()
            .filter(|(other, _)| *other == name)
            .map(|(_, entry)| entry.place())
            .nth(nth)
    }

    /// In the order of finals.
    fn by_place<'e>(mut found: Vec<(&'e [u8], &'e E)>) -> Vec<(&'e [u8], &'e E)> {
        found.sort_by_key(|&(name, entry)| (entry.place(), name));
        found
    }
}

/// Runs the steps on both; `entry` makes an entry, `due` a close time for the store from one for
/// the horizon.
fn run<E: Entry + PartialEq + std::fmt::Debug>(
    width: u64,
    steps: &[Step],
    entry: impl Fn(i64, i64, i64, Slot) -> E,
    horizon: impl Fn(i64, i64) -> (Horizon, Time),
    compare: impl Fn(&WindowTable<E>, &Naive<E>),
) {
    let mut store = WindowTable::new(Span(width));
    let mut naive = Naive {
        list: BTreeMap::new(),
        horizon: Horizon::OPEN,
    };
    let (mut close, mut kept, mut closed) = (-60, -60, Time::MIN);
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Put {
                key,
                start,
                length,
                gap,
            } => {
                let new = entry(start, length, gap, Slot(number as u32));
                let key_number = store.intern(NAMES[key]).unwrap();
                store.put(key_number, new.clone());
                naive.list.insert((NAMES[key], new.place()), new);
            }
            Step::Replace {
                key,
                nth,
                start,
                length,
                gap,
            } => {
                let new = entry(start, length, gap, Slot(number as u32));
                if let (Some(place), Some(key_number)) =
                    (naive.nth(NAMES[key], nth), store.key(NAMES[key]))
                {
                    store.replace(key_number, place, new.clone());
                    naive.list.remove(&(NAMES[key], place));
                    naive.list.insert((NAMES[key], new.place()), new);
                }
            }
            Step::Remove { key, nth } => {
                if let (Some(place), Some(key_number)) =
                    (naive.nth(NAMES[key], nth), store.key(NAMES[key]))
                {
                    let removed = store.remove(key_number, place);
                    assert_eq!(removed, naive.list.remove(&(NAMES[key], place)));
                }
            }
            Step::Close {
                close: more,
                kept: back,
            } => {
                close += more;
                kept = kept.max(close - back);
                let (horizon, due) = horizon(close, kept);
                store.advance(horizon);
                naive.horizon = horizon;
                let expected: Vec<(&[u8], &E)> = naive
                    .list
                    .iter()
                    .map(|(&(name, _), entry)| (name, entry))
                    .collect();
                let expected = expected
                    .into_iter()
                    .filter(|(_, entry)| entry.due() >= closed && entry.due() < due)
                    .collect();
                let expected: Vec<(Vec<u8>, E)> = Naive::by_place(expected)
                    .into_iter()
                    .map(|(name, entry)| (name.to_vec(), entry.clone()))
                    .collect();
                let got = store.close(due);
                let got: Vec<(Vec<u8>, E)> = got
                    .into_iter()
                    .map(|(key, entry): (StoreKey, E)| (store.name(key).to_vec(), entry))
                    .collect();
                assert_eq!(got, expected, "each window closes once, in order");
                closed = closed.max(due);
                store.expire(|dropped| {
                    assert!(!dropped.is_visible(horizon) && dropped.due() < closed)
                });
            }
        }
        let open = naive
            .list
            .values()
            .filter(|entry| entry.due() >= closed)
            .count();
        assert_eq!(store.open(), open);
        assert!(store.len() <= naive.list.len());
        compare(&store, &naive);
    }
    let pending: Vec<E> = store
        .pending()
        .into_iter()
        .map(|(_, entry)| entry)
        .collect();
    let all = naive
        .list
        .iter()
        .map(|(&(name, _), entry)| (name, entry))
        .filter(|(_, entry)| entry.due() >= closed)
        .collect();
    assert_eq!(
        pending.iter().collect::<Vec<_>>(),
        Naive::by_place(all)
            .into_iter()
            .map(|(_, entry)| entry)
            .collect::<Vec<_>>()
    );
}

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

fn compare_sessions(store: &SessionStore, naive: &Naive<SessionEntry>) {
    let visible = naive.visible();
    assert_both_ways!(store.all(), visible.clone());
    for &name in &NAMES {
        let mine: Vec<&SessionEntry> = visible
            .iter()
            .filter(|(other, _)| *other == name)
            .map(|&(_, session)| session)
            .collect();
        assert_both_ways!(store.fetch(name), mine.clone());
        for (earliest, latest) in [
            (-10, 10),
            (0, 0),
            (10, -10),
            (i64::MIN, i64::MAX),
            (i64::MAX, i64::MIN),
            (5, 30),
        ] {
            let overlaps =
                |session: &Extent| session.end >= Time(earliest) && session.start <= Time(latest);
            let expected = mine
                .iter()
                .copied()
                .filter(|session| overlaps(&session.extent))
                .collect();
            assert_both_ways!(
                store.find_sessions(name, Time(earliest), Time(latest)),
                expected
            );
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
                    store.find_sessions_of(from, to, Time(earliest), Time(latest)),
                    expected
                );
            }
            let reaches = |session: &SessionEntry| {
                (Time(earliest)..=Time(latest)).contains(&session.extent.reach)
            };
            let expected = Naive::by_place(
                visible
                    .iter()
                    .copied()
                    .filter(|(_, session)| reaches(session))
                    .collect(),
            );
            assert_both_ways!(store.find_closed(Time(earliest), Time(latest)), expected);
        }
    }
    for (from, to) in ranges() {
        let within =
            |other: &[u8]| from.is_none_or(|from| from <= other) && to.is_none_or(|to| other <= to);
        assert_both_ways!(
            store.fetch_range(from, to),
            visible
                .iter()
                .copied()
                .filter(|(other, _)| within(other))
                .collect()
        );
    }
    for &(name, session) in &visible {
        assert_eq!(
            store.fetch_session(name, session.extent.start, session.extent.end),
            Some(session)
        );
        assert_eq!(
            store.fetch_session(
                name,
                session.extent.start,
                session.extent.end.saturating_add(Span(100))
            ),
            None
        );
    }
}

/// A key, or an open side.
type Side = Option<&'static [u8]>;

/// Closed, open on a side, reversed, unknown bounds.
fn ranges() -> [(Side, Side); 6] {
    [
        (None, None),
        (Some(b"a"), Some(b"ab")),
        (Some(b"ab"), Some(b"a")),
        (Some(b"a\0\0"), None),
        (None, Some(b"a")),
        (Some(b"b"), Some(b"c")),
    ]
}

fn compare_windows(store: &WindowStore, naive: &Naive<WindowEntry>) {
    let visible = naive.visible();
    assert_both_ways!(store.all(), visible.clone());
    for (from, to) in [
        (-10, 10),
        (0, 0),
        (10, -10),
        (i64::MIN, i64::MAX),
        (i64::MAX, i64::MIN),
        (5, 30),
    ] {
        let (from, to) = (Time(from), Time(to));
        let started: Vec<_> = visible
            .iter()
            .copied()
            .filter(|(_, window)| from <= window.start && window.start <= to)
            .collect();
        assert_both_ways!(store.fetch_all(from, to), started.clone());
        assert_both_ways!(
            store.find_closed(from, to),
            Naive::by_place(started.clone())
        );
        for &name in &NAMES {
            let mine = started
                .iter()
                .filter(|(other, _)| *other == name)
                .map(|&(_, window)| window)
                .collect();
            assert_both_ways!(store.fetch_between(name, from, to), mine);
        }
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
    for &(name, window) in &visible {
        assert_eq!(store.fetch(name, window.start), Some(window));
        assert_eq!(store.fetch(b"unknown", window.start), None);
    }
}

proptest! {
    #![proptest_config(crate::cases::usually(256))]

    #[test]
    fn session_store_equals_a_sorted_list(width in 1..20_u64, steps in steps()) {
        run(
            width,
            &steps,
            |start, length, gap, slot| SessionEntry {
                extent: Extent { start: Time(start), end: Time(start + length), reach: Time(start + length + gap) },
                slot,
            },
            |close, kept| (Horizon { close: Time(close), kept: Time(kept) }, Time(close)),
            compare_sessions,
        );
    }

    #[test]
    fn window_store_equals_a_sorted_list(width in 1..20_u64, steps in steps()) {
        run(
            width,
            &steps,
            |start, length, _, slot| WindowEntry { start: Time(start), largest: Time(start + length), slot },
            |close, kept| (Horizon { close: Time(close), kept: Time(kept) }, Time(close - 10)),
            compare_windows,
        );
    }
}

#[test]
fn a_key_is_forgotten_with_its_last_window_and_its_number_used_again() {
    let mut store = WindowStore::new(Span(10));
    let key = store.intern(b"a").unwrap();
    store.put(
        key,
        WindowEntry {
            start: Time(5),
            largest: Time(9),
            slot: Slot(0),
        },
    );
    store.advance(Horizon {
        close: Time(40),
        kept: Time(40),
    });
    assert_eq!(store.close(Time(20)).len(), 1);
    let mut dropped = 0;
    store.expire(|_| dropped += 1);
    assert_eq!((dropped, store.len(), store.key(b"a")), (1, 0, None));
    assert_eq!(store.intern(b"b").unwrap(), key);
    assert_eq!(store.name(key), b"b");
}

#[test]
fn a_window_that_is_not_closed_is_never_dropped() {
    let mut store = WindowStore::new(Span(1));
    let key = store.intern(b"a").unwrap();
    store.put(
        key,
        WindowEntry {
            start: Time(5),
            largest: Time(9),
            slot: Slot(0),
        },
    );
    store.advance(Horizon {
        close: Time(i64::MAX),
        kept: Time(i64::MAX),
    });
    store.expire(|_| panic!("not closed yet"));
    assert_eq!(store.close(Time::MAX).len(), 1);
    store.expire(|_| ());
    assert!(store.is_empty());
}
