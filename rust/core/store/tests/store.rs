//! The store equals a naive sorted list after any puts, removals, closings and expiries.

use std::collections::BTreeMap;

use crate::core::aggregate::slot::Slot;
use crate::core::store::{
    SessionEntry, StoreEntry, StoreKey, WindowEntry, WindowStore, WindowTable,
};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon};
use proptest::prelude::*;

use crate::core::store::tests::store_queries::{compare_sessions, compare_windows};

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
        drop_hidden: bool,
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
    let close =
        (0..9_i64, 0..30_i64, any::<bool>()).prop_map(|(close, kept, drop_hidden)| Step::Close {
            close,
            kept,
            drop_hidden,
        });
    prop::collection::vec(
        prop_oneof![6 => put, 2 => replace, 2 => remove, 2 => close],
        0..60,
    )
}

/// A sorted list, and how far it is closed.
pub(crate) struct Naive<E: StoreEntry> {
    list: BTreeMap<(&'static [u8], E::Id), E>,
    horizon: Horizon,
}

impl<E: StoreEntry + PartialEq + std::fmt::Debug> Naive<E> {
    pub(crate) fn visible(&self) -> Vec<(&[u8], &E)> {
        self.list
            .iter()
            .filter(|(_, entry)| entry.is_visible(self.horizon))
            .map(|(&(name, _), entry)| (name, entry))
            .collect()
    }

    /// The id of a key's nth visible window.
    fn nth(&self, name: &[u8], nth: usize) -> Option<E::Id> {
        self.visible()
            .into_iter()
            .filter(|(other, _)| *other == name)
            .map(|(_, entry)| entry.id())
            .nth(nth)
    }

    /// In the order of finals.
    pub(crate) fn by_id<'e>(mut found: Vec<(&'e [u8], &'e E)>) -> Vec<(&'e [u8], &'e E)> {
        found.sort_by_key(|&(name, entry)| (entry.id(), name));
        found
    }
}

/// Runs the steps on both; `entry` makes an entry, `due` a close time for the store from one for
/// the horizon.
fn run<E: StoreEntry + PartialEq + std::fmt::Debug>(
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
                naive.list.insert((NAMES[key], new.id()), new);
            }
            Step::Replace {
                key,
                nth,
                start,
                length,
                gap,
            } => {
                let new = entry(start, length, gap, Slot(number as u32));
                if let (Some(id), Some(key_number)) =
                    (naive.nth(NAMES[key], nth), store.key(NAMES[key]))
                {
                    store.replace(key_number, id, new.clone());
                    naive.list.remove(&(NAMES[key], id));
                    naive.list.insert((NAMES[key], new.id()), new);
                }
            }
            Step::Remove { key, nth } => {
                if let (Some(id), Some(key_number)) =
                    (naive.nth(NAMES[key], nth), store.key(NAMES[key]))
                {
                    let removed = store.remove(key_number, id);
                    assert_eq!(removed, naive.list.remove(&(NAMES[key], id)));
                }
            }
            Step::Close {
                close: more,
                kept: back,
                drop_hidden,
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
                let expected: Vec<(Vec<u8>, E)> = Naive::by_id(expected)
                    .into_iter()
                    .map(|(name, entry)| (name.to_vec(), entry.clone()))
                    .collect();
                let now_closed = due.max(closed);
                let dropped = |dropped: E| {
                    assert!(!dropped.is_visible(horizon) && dropped.due() < now_closed)
                };
                let got = store.close(due);
                store.drop_closed(&got, dropped);
                let got: Vec<(Vec<u8>, E)> = got
                    .into_iter()
                    .map(|(key, entry): (StoreKey, E)| (store.name(key).to_vec(), entry))
                    .collect();
                assert_eq!(got, expected, "each window closes once, in order");
                closed = now_closed;
                store.expire(dropped);
                if drop_hidden {
                    store.drop_hidden(dropped);
                    let left = naive.list.values();
                    let left =
                        left.filter(|entry| entry.is_visible(horizon) || entry.due() >= closed);
                    assert_eq!(store.len(), left.count(), "no closed window is hidden");
                }
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
        Naive::by_id(all)
            .into_iter()
            .map(|(_, entry)| entry)
            .collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

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

/// A store of segments of a width, with a window of the key `a`.
fn with_one_window(width: u64) -> (WindowStore, StoreKey) {
    let mut store = WindowStore::new(Span(width));
    let key = store.intern(b"a").unwrap();
    store.put(
        key,
        WindowEntry {
            start: Time(5),
            largest: Time(9),
            slot: Slot(0),
        },
    );
    (store, key)
}

#[test]
fn a_key_is_forgotten_with_its_last_window_and_its_number_used_again() {
    let (mut store, key) = with_one_window(10);
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
    let (mut store, _) = with_one_window(1);
    store.advance(Horizon {
        close: Time(i64::MAX),
        kept: Time(i64::MAX),
    });
    store.expire(|_| panic!("not closed yet"));
    assert_eq!(store.close(Time::MAX).len(), 1);
    store.expire(|_| ());
    assert_eq!(store.len(), 0);
}
