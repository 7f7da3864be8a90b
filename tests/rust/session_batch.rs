//! Sessions against the rule taken literally: a record joins every session of its key within the gap.
//!
//! ```text
//!   sessions so far   [1,2]      [6,7]        gap 3
//!   record 4          ├── 1..7 ──┤            joins both: [1,7]
//! ```

use std::collections::BTreeMap;

use proptest::prelude::*;
use windrow::aggregate::slot::Slot;
use windrow::key::KeyId;
use windrow::session::batch::{Coalesced, Sessions};
use windrow::time::{Span, Time};
use windrow::window::Extent;

use crate::aggregate_trial::Random;

/// A record: key and time.
type Record = (u32, i64);
/// The sessions of all keys, ascending, and the number of records in each.
pub(crate) type Found = BTreeMap<(u32, i64, i64), usize>;

/// Rules 2.1 on unbounded integers, record by record.
pub(crate) fn oracle_sessions(records: &[Record], gap: u64) -> Found {
    let mut sessions: Vec<(u32, i64, i64, usize)> = Vec::new();
    for &(key, time) in records {
        let within = |left: i64, right: i64| i128::from(left) - i128::from(right) <= i128::from(gap);
        let (joined, apart): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|&(of, start, end, _)| of == key && within(time, end) && within(start, time));
        sessions = apart;
        sessions.push(joined.into_iter().fold((key, time, time, 1), |(key, start, end, count), joined| {
            (key, start.min(joined.1), end.max(joined.2), count + joined.3)
        }));
    }
    sessions.into_iter().map(|(key, start, end, count)| ((key, start, end), count)).collect()
}

fn split(records: &[Record]) -> (Vec<KeyId>, Vec<Time>) {
    records.iter().map(|&(key, time)| (KeyId(key), Time(time))).unzip()
}

/// The sessions of records given in calls of these lengths, the rest in one call; each record must lie in its session.
fn found(sessions: &mut Sessions, records: &[Record], cuts: &[usize], gap: u64) -> (Coalesced, Vec<Slot>) {
    let mut slots: Vec<Slot> = Vec::new();
    let mut rest = records;
    for &cut in cuts.iter().chain([&usize::MAX]) {
        let (call, others) = rest.split_at(cut.min(rest.len()));
        let (keys, times) = split(call);
        slots.extend(sessions.assign(&keys, &times, Span(gap)));
        rest = others;
    }
    let coalesced = sessions.coalesce();
    assert!(sessions.is_empty(), "all sessions are handed out");
    let slots = slots.into_iter().map(|slot| moved(&coalesced, slot)).collect();
    (coalesced, slots)
}

fn moved(coalesced: &Coalesced, slot: Slot) -> Slot {
    coalesced.moves.as_ref().map_or(slot, |moves| moves[slot.0 as usize])
}

/// Sessions with the number of records that were given their slots.
fn counted(coalesced: &Coalesced, records: &[Record], slots: &[Slot]) -> Found {
    let mut counts = vec![0; coalesced.keys.len()];
    for (&(key, time), slot) in records.iter().zip(slots) {
        let place = slot.0 as usize;
        let extent = coalesced.extents[place];
        assert!(coalesced.keys[place] == KeyId(key) && extent.start.0 <= time && time <= extent.end.0, "{time} is not in {extent:?}");
        counts[place] += 1;
    }
    let sessions = coalesced.keys.iter().zip(&coalesced.extents).zip(counts);
    let found: Found = sessions.map(|((key, extent), count)| ((key.0, extent.start.0, extent.end.0), count)).collect();
    assert_eq!(found.len(), coalesced.keys.len(), "a session came twice");
    found
}

fn check(records: &[Record], cuts: &[usize], gap: u64) {
    let mut sessions = Sessions::default();
    let expected = oracle_sessions(records, gap);
    // The second time on what the first has left behind.
    for _ in 0..2 {
        let (coalesced, slots) = found(&mut sessions, records, cuts, gap);
        assert_eq!(counted(&coalesced, records, &slots), expected);
    }
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![12 => -15..25_i64, 1 => i64::MIN..i64::MIN + 6, 1 => i64::MAX - 6..=i64::MAX]
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..5_u64, 1 => Just(u64::MAX), 1 => Just(i64::MAX as u64), 1 => Just(u64::MAX - 8)]
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec((0..3_u32, time()), 0..60)
}

proptest! {
    #[test]
    fn oracle_any_order_and_any_cut_gives_the_sessions_of_the_rule(
        records in records(),
        cuts in prop::collection::vec(0..20_usize, 0..6),
        gap in gap(),
    ) {
        check(&records, &cuts, gap);
    }

    #[test]
    fn oracle_partial_sessions_join_in_any_order(records in records(), gap in gap(), parts in 1..6_usize, seed: u64) {
        let mut random = Random(seed);
        let mut of_part = vec![Vec::new(); parts];
        records.iter().for_each(|&record| of_part[random.below(parts)].push(record));
        let mut partials: Vec<(KeyId, Extent, usize)> = Vec::new();
        for records in &of_part {
            let (coalesced, slots) = found(&mut Sessions::default(), records, &[], gap);
            let counts = counted(&coalesced, records, &slots);
            let sessions = coalesced.keys.iter().zip(&coalesced.extents);
            partials.extend(sessions.map(|(&key, &extent)| (key, extent, counts[&(key.0, extent.start.0, extent.end.0)])));
        }
        random.shuffle(&mut partials);

        let mut sessions = Sessions::default();
        let keys: Vec<KeyId> = partials.iter().map(|partial| partial.0).collect();
        let extents: Vec<Extent> = partials.iter().map(|partial| partial.1).collect();
        let half = partials.len() / 2;
        let mut slots = sessions.assign_partials(&keys[..half], &extents[..half]);
        slots.extend(sessions.assign_partials(&keys[half..], &extents[half..]));
        let coalesced = sessions.coalesce();
        let mut got = Found::new();
        for (partial, slot) in partials.iter().zip(slots) {
            let place = moved(&coalesced, slot).0 as usize;
            let extent = coalesced.extents[place];
            prop_assert_eq!(extent.reach, extent.end.saturating_add(Span(gap)));
            *got.entry((coalesced.keys[place].0, extent.start.0, extent.end.0)).or_default() += partial.2;
        }
        prop_assert_eq!(coalesced.keys.len(), got.len());
        prop_assert_eq!(got, oracle_sessions(&records, gap));
    }
}

proptest! {
    #![proptest_config(crate::cases::usually(12))]

    #[test]
    fn oracle_thousands_of_shuffled_rows_take_the_sorted_way(seed: u64, keys in 1..40_usize, gap in 0..40_u64, cut in 0..9000_usize) {
        let mut random = Random(seed);
        let records: Vec<Record> = (0..9000).map(|_| (random.below(keys) as u32, random.below(40_000) as i64 - 20_000)).collect();
        check(&records, &[cut], gap);
    }

    #[test]
    fn oracle_rows_in_order_and_then_shuffled_change_the_way_within_a_call(seed: u64, keys in 1..40_usize, gap in 0..40_u64) {
        let mut random = Random(seed);
        let mut records: Vec<Record> = (0..9000).map(|row| (random.below(keys) as u32, row)).collect();
        random.shuffle(&mut records[4500..]);
        check(&records, &[], gap);
    }
}

#[test]
fn the_gap_is_inclusive() {
    for (first, gap) in [(0, 10), (-5, 10), (i64::MIN, 10), (i64::MAX - 11, 10), (i64::MIN, u64::MAX - 1)] {
        let at = |distance: u64| first.checked_add_unsigned(distance).unwrap();
        for (distance, sessions) in [(gap - 1, 1), (gap, 1), (gap + 1, 2)] {
            for records in [[(0, first), (0, at(distance))], [(0, at(distance)), (0, first)]] {
                check(&records, &[], gap);
                assert_eq!(oracle_sessions(&records, gap).len(), sessions, "{distance} apart with a gap of {gap}");
            }
        }
    }
}

#[test]
fn a_record_joins_all_sessions_that_it_bridges() {
    //   1     4     7          gap 3: 4 bridges [1,1] and [7,7]; with a gap of 2 there are three
    for (gap, sessions) in [(2, 3), (3, 1), (4, 1)] {
        let records = [(0, 1), (0, 7), (0, 4)];
        check(&records, &[1, 1], gap);
        assert_eq!(oracle_sessions(&records, gap).len(), sessions);
    }
}
