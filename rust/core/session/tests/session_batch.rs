//! Sessions against the rule taken literally: a record joins every session of its key within the
//! gap.
//!
//! ```text
//!   sessions so far   [1,2]      [6,7]        gap 3
//!   record 4          ├── 1..7 ──┤            joins both: [1,7]
//! ```

use std::collections::{BTreeMap, HashMap};
use std::mem;

use crate::core::aggregate::slot::Slot;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::session::batch::OpenSessions;
use crate::core::session::coalesce::CoalescedSessions;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use proptest::prelude::*;

use crate::core::aggregate::tests::trial::Random;

/// A record: key and time.
type Record = (u32, i64);
/// The sessions of all keys, ascending, and the number of records in each.
pub(crate) type Found = BTreeMap<(u32, i64, i64), usize>;

/// The gaps of records.
#[derive(Clone, Copy)]
enum GapColumn<'a> {
    One(u64),
    Own(&'a [u64]),
}

impl GapColumn<'_> {
    fn of(self, row: usize) -> u64 {
        match self {
            Self::One(gap) => gap,
            Self::Own(gaps) => gaps[row],
        }
    }

    /// Assigns slots to records; the first record is number `from`.
    fn assign(self, sessions: &mut OpenSessions, records: &[Record], from: usize) -> Vec<Slot> {
        let (keys, times): (Vec<KeyId>, Vec<Time>) = records
            .iter()
            .map(|&(key, time)| (KeyId(key), Time(time)))
            .unzip();
        let slots = match self {
            Self::One(gap) => sessions.assign(&keys, &times, Span(gap), &Interrupt::never()),
            Self::Own(gaps) => {
                let extent = |row, time| Extent::of(time, Span(gaps[from + row]));
                sessions.assign_each(&keys, &times, extent, &Interrupt::never())
            }
        };
        slots.unwrap()
    }
}

/// Rules 2.1 on unbounded integers, record by record.
pub(crate) fn oracle_sessions(records: &[Record], gap: u64) -> Found {
    oracle_of_gaps(records, GapColumn::One(gap))
}

/// Rules 3.2, where each record has its own gap.
pub(crate) fn oracle_dynamic(records: &[Record], gaps: &[u64]) -> Found {
    oracle_of_gaps(records, GapColumn::Own(gaps))
}

fn oracle_of_gaps(records: &[Record], gaps: GapColumn<'_>) -> Found {
    let mut sessions: HashMap<u32, Vec<(i64, i64, i128, usize)>> = HashMap::new();
    for (row, &(key, time)) in records.iter().enumerate() {
        let reach = i128::from(time) + i128::from(gaps.of(row));
        let of_key = sessions.entry(key).or_default();
        let (joined, apart): (Vec<_>, Vec<_>) =
            mem::take(of_key)
                .into_iter()
                .partition(|&(start, _, until, _)| {
                    i128::from(time) <= until && i128::from(start) <= reach
                });
        *of_key = apart;
        of_key.push(joined.into_iter().fold(
            (time, time, reach, 1),
            |(start, end, reach, count), joined| {
                (
                    start.min(joined.0),
                    end.max(joined.1),
                    reach.max(joined.2),
                    count + joined.3,
                )
            },
        ));
    }
    let found = sessions.into_iter().flat_map(|(key, of_key)| {
        of_key
            .into_iter()
            .map(move |(start, end, _, count)| ((key, start, end), count))
    });
    found.collect()
}

/// The sessions of records given in calls of these lengths, the rest in one call; each record must
/// lie in its session.
fn found(
    sessions: &mut OpenSessions,
    records: &[Record],
    cuts: &[usize],
    gaps: GapColumn<'_>,
) -> (CoalescedSessions, Vec<Slot>) {
    let mut slots: Vec<Slot> = Vec::new();
    let mut rest = records;
    for &cut in cuts.iter().chain([&usize::MAX]) {
        let (call, others) = rest.split_at(cut.min(rest.len()));
        slots.extend(gaps.assign(sessions, call, slots.len()));
        rest = others;
    }
    let coalesced = sessions.coalesce(&Interrupt::never()).unwrap();
    assert_eq!(sessions.len(), 0, "all sessions are handed out");
    let slots = slots
        .into_iter()
        .map(|slot| moved(&coalesced, slot))
        .collect();
    (coalesced, slots)
}

fn moved(coalesced: &CoalescedSessions, slot: Slot) -> Slot {
    coalesced
        .moves
        .as_ref()
        .map_or(slot, |moves| moves[slot.0 as usize])
}

/// Sessions with the number of records that were given their slots.
fn counted(coalesced: &CoalescedSessions, records: &[Record], slots: &[Slot]) -> Found {
    let mut counts = vec![0; coalesced.keys.len()];
    for (&(key, time), slot) in records.iter().zip(slots) {
        let place = slot.0 as usize;
        let extent = coalesced.extents[place];
        assert!(
            coalesced.keys[place] == KeyId(key) && extent.start.0 <= time && time <= extent.end.0,
            "{time} is not in {extent:?}"
        );
        counts[place] += 1;
    }
    let sessions = coalesced.keys.iter().zip(&coalesced.extents).zip(counts);
    let found: Found = sessions
        .map(|((key, extent), count)| ((key.0, extent.start.0, extent.end.0), count))
        .collect();
    assert_eq!(found.len(), coalesced.keys.len(), "a session came twice");
    found
}

fn check(records: &[Record], cuts: &[usize], gap: u64) {
    check_gaps(records, cuts, GapColumn::One(gap));
}

fn check_gaps(records: &[Record], cuts: &[usize], gaps: GapColumn<'_>) {
    let mut sessions = OpenSessions::default();
    let expected = oracle_of_gaps(records, gaps);
    // The second time on what the first has left behind.
    for _ in 0..2 {
        let (coalesced, slots) = found(&mut sessions, records, cuts, gaps);
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

/// Records and the gap of each: mostly short ones, some that reach over many records.
fn own_gaps() -> impl Strategy<Value = (Vec<Record>, Vec<u64>)> {
    let gap = prop_oneof![12 => 0..4_u64, 2 => 4..30_u64, 1 => gap()];
    prop::collection::vec(((0..3_u32, time()), gap), 0..60)
        .prop_map(|rows| rows.into_iter().unzip())
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_any_order_and_any_cut_gives_the_sessions_of_the_rule(
        records in records(),
        cuts in prop::collection::vec(0..20_usize, 0..6),
        gap in gap(),
    ) {
        check(&records, &cuts, gap);
    }

    #[test]
    fn oracle_records_with_their_own_gaps_are_the_sessions_of_the_rule(
        (records, gaps) in own_gaps(),
        cuts in prop::collection::vec(0..20_usize, 0..6),
    ) {
        check_gaps(&records, &cuts, GapColumn::Own(&gaps));
    }

    #[test]
    fn differential_own_gaps_that_are_all_alike_are_one_gap(records in records(), gap in gap()) {
        let [one, own] = [GapColumn::One(gap), GapColumn::Own(&vec![gap; records.len()])]
            .map(|gaps| found(&mut OpenSessions::default(), &records, &[], gaps));
        prop_assert_eq!((one.0.keys, one.0.extents, one.1), (own.0.keys, own.0.extents, own.1));
    }

    #[test]
    fn oracle_partial_sessions_join_in_any_order((records, gaps) in own_gaps(), parts in 1..6_usize, seed: u64) {
        let mut random = Random(seed);
        let mut of_part = vec![(Vec::new(), Vec::new()); parts];
        for (&record, &gap) in records.iter().zip(&gaps) {
            let part = &mut of_part[random.below(parts)];
            part.0.push(record);
            part.1.push(gap);
        }
        let mut partials: Vec<(KeyId, Extent, usize)> = Vec::new();
        for (records, gaps) in &of_part {
            let (coalesced, slots) = found(&mut OpenSessions::default(), records, &[], GapColumn::Own(gaps));
            let counts = counted(&coalesced, records, &slots);
            let sessions = coalesced.keys.iter().zip(&coalesced.extents);
            partials.extend(sessions.map(|(&key, &extent)| (key, extent, counts[&(key.0, extent.start.0, extent.end.0)])));
        }
        random.shuffle(&mut partials);

        let mut sessions = OpenSessions::default();
        let keys: Vec<KeyId> = partials.iter().map(|partial| partial.0).collect();
        let extents: Vec<Extent> = partials.iter().map(|partial| partial.1).collect();
        let half = partials.len() / 2;
        let mut slots = sessions.assign_partials(&keys[..half], &extents[..half]).unwrap();
        slots.extend(sessions.assign_partials(&keys[half..], &extents[half..]).unwrap());
        let coalesced = sessions.coalesce(&Interrupt::never()).unwrap();
        let mut got = Found::new();
        for (partial, slot) in partials.iter().zip(slots) {
            let place = moved(&coalesced, slot).0 as usize;
            let extent = coalesced.extents[place];
            let within = |&(&(key, time), _): &(&Record, &u64)| KeyId(key) == coalesced.keys[place] && extent.start.0 <= time && time <= extent.end.0;
            let reaches = records.iter().zip(&gaps).filter(within).map(|(&(_, time), &gap)| Time(time).saturating_add(Span(gap)));
            prop_assert_eq!(Some(extent.reach), reaches.max());
            *got.entry((coalesced.keys[place].0, extent.start.0, extent.end.0)).or_default() += partial.2;
        }
        prop_assert_eq!(coalesced.keys.len(), got.len());
        prop_assert_eq!(got, oracle_dynamic(&records, &gaps));
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::costly(4))]

    #[test]
    fn oracle_thousands_of_shuffled_rows_take_the_sorted_way(seed: u64, keys in 1..40_usize, gap in 0..40_u64, cut in 0..9000_usize) {
        let mut random = Random(seed);
        let records: Vec<Record> = (0..9000).map(|_| (random.below(keys) as u32, random.below(40_000) as i64 - 20_000)).collect();
        check(&records, &[cut], gap);
    }

    #[test]
    fn oracle_thousands_of_shuffled_rows_with_their_own_gaps(seed: u64, keys in 1..40_usize, most in 1..400_usize, cut in 0..9000_usize) {
        let mut random = Random(seed);
        let records: Vec<Record> = (0..9000).map(|_| (random.below(keys) as u32, random.below(40_000) as i64 - 20_000)).collect();
        let mut gap = || if random.below(50) == 0 { 20 * most } else { random.below(most) };
        let gaps: Vec<u64> = (0..9000).map(|_| gap() as u64).collect();
        check_gaps(&records, &[cut], GapColumn::Own(&gaps));
    }

    #[test]
    fn oracle_rows_in_order_and_then_shuffled_change_the_way_within_a_call(seed: u64, keys in 1..40_usize, gap in 0..40_u64) {
        let mut random = Random(seed);
        let mut records: Vec<Record> = (0..30_000).map(|row| (random.below(keys) as u32, row)).collect();
        random.shuffle(&mut records[20_000..]);
        check(&records, &[], gap);
    }
}

#[test]
fn shuffled_rows_of_many_keys_are_sorted_from_the_first_one_on() {
    // Each key comes in every 5,000th row, mostly before its last one.
    let records: Vec<Record> = (0..15_000)
        .map(|row| ((row % 5_000) as u32, 100 * (row * 7_919 % 15_000)))
        .collect();
    let coalesced = found(
        &mut OpenSessions::default(),
        &records,
        &[],
        GapColumn::One(10),
    )
    .0;
    assert_eq!(coalesced.keys.len(), 15_000);
    assert!(coalesced.moves.is_none(), "none was built in pieces");
}

#[test]
fn the_gap_is_inclusive() {
    for (first, gap) in [
        (0, 10),
        (-5, 10),
        (i64::MIN, 10),
        (i64::MAX - 11, 10),
        (i64::MIN, u64::MAX - 1),
    ] {
        let at = |distance: u64| first.checked_add_unsigned(distance).unwrap();
        for (distance, sessions) in [(gap - 1, 1), (gap, 1), (gap + 1, 2)] {
            for records in [
                [(0, first), (0, at(distance))],
                [(0, at(distance)), (0, first)],
            ] {
                check(&records, &[], gap);
                assert_eq!(
                    oracle_sessions(&records, gap).len(),
                    sessions,
                    "{distance} apart with a gap of {gap}"
                );
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

#[test]
fn a_record_joins_at_exactly_the_reach_of_another() {
    //   gap 10 from 0:  ├──────────┤        the other's own gap is 1
    for (distance, sessions) in [(9, 1), (10, 1), (11, 2)] {
        let (early, late) = ((0, -5), (0, -5 + distance));
        for (records, gaps) in [([early, late], [10, 1]), ([late, early], [1, 10])] {
            check_gaps(&records, &[], GapColumn::Own(&gaps));
            check_gaps(&records, &[1], GapColumn::Own(&gaps));
            assert_eq!(
                oracle_dynamic(&records, &gaps).len(),
                sessions,
                "{distance} apart"
            );
        }
        // The long gap is the later record's: it reaches forward only.
        assert_eq!(oracle_dynamic(&[early, late], &[1, 10]).len(), 2);
        check_gaps(&[early, late], &[], GapColumn::Own(&[1, 10]));
    }
}

#[test]
fn long_gaps_reach_over_later_sessions() {
    //   rows in order     0├────────────────────────┤25           gap 25 of the first
    //                         5├┤    12├┤     20├┤      27├┤      gap 1 of the others
    let (records, gaps) = (
        [(0, 0), (0, 5), (0, 12), (0, 20), (0, 27)],
        [25, 1, 1, 1, 1],
    );
    let expected: Found = [((0, 0, 20), 4), ((0, 27, 27), 1)].into();
    assert_eq!(oracle_dynamic(&records, &gaps), expected);
    // In any order of the rows: also where the long one comes last, or reaches over sessions that
    // were closed long ago.
    let mut order = [0, 1, 2, 3, 4];
    let mut random = Random(7);
    for _ in 0..200 {
        random.shuffle(&mut order);
        let (records, gaps): (Vec<Record>, Vec<u64>) =
            order.iter().map(|&row| (records[row], gaps[row])).unzip();
        check_gaps(&records, &[], GapColumn::Own(&gaps));
        check_gaps(&records, &[2], GapColumn::Own(&gaps));
    }
}
