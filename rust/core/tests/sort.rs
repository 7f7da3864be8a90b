//! Rows by key and time against a stable sort, where times and row numbers fit in one word and
//! where they do not.

use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sort::{SortedRows, order, rough_order};
use crate::core::time::Time;
use proptest::prelude::*;

type Row = (u32, i64);

/// Keys and their rows, as (time, row number).
type Rows = Vec<(u32, Vec<(i64, u32)>)>;

fn expected(rows: &[Row]) -> Rows {
    let mut numbered: Vec<(u32, i64, u32)> = rows
        .iter()
        .zip(0..)
        .map(|(&(key, time), row)| (key, time, row))
        .collect();
    numbered.sort();
    numbered
        .chunk_by(|left, right| left.0 == right.0)
        .map(|rows| (rows[0].0, rows.iter().map(|row| (row.1, row.2)).collect()))
        .collect()
}

fn check(rows: &[Row]) {
    let keys: Vec<KeyId> = rows.iter().map(|row| KeyId(row.0)).collect();
    let times: Vec<Time> = rows.iter().map(|row| Time(row.1)).collect();
    let sorted = SortedRows::new(&keys, &times, &Interrupt::never()).unwrap();
    let found: Rows = sorted
        .by_key()
        .map(|(key, rows)| {
            (
                key.0,
                rows.iter().map(|&(time, row)| (time.0, row)).collect(),
            )
        })
        .collect();
    assert_eq!(found, expected(rows));
    let numbers: Vec<u32> = found
        .into_iter()
        .flat_map(|(_, rows)| rows)
        .map(|(_, row)| row)
        .collect();
    let order = order(&keys, &times, &Interrupt::never()).unwrap();
    assert_eq!(order, numbers);
}

#[test]
fn no_rows_and_one_row() {
    check(&[]);
    check(&[(3, i64::MIN)]);
    check(&[(0, i64::MAX)]);
}

#[test]
fn any_distance_of_times() {
    for bits in 0..=64_u32 {
        for off in [-1, 0, 1_i128] {
            let distance = ((1_i128 << bits) + off).clamp(0, i128::from(u64::MAX));
            for first in [
                i128::from(i64::MIN),
                -distance / 2,
                i128::from(i64::MAX) - distance,
            ] {
                let last = (first + distance) as i64;
                let first = first as i64;
                check(&[
                    (0, last),
                    (0, first),
                    (0, first),
                    (1, last),
                    (0, last),
                    (1, first),
                    (0, first),
                ]);
            }
        }
    }
}

/// More rows of a key than are sorted at once; `time` makes a time of a random number.
fn check_many(time: impl Fn(u64) -> i64) {
    let mut random = 7_u64;
    let rows: Vec<Row> = (0..(1 << 20) + 77_000)
        .map(|row| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (u32::from(row % 64 == 0), time(random))
        })
        .collect();
    check(&rows);
}

#[test]
fn many_rows_of_one_key() {
    check_many(|number| (number >> 44) as i64);
    check_many(|number| number as i64); // a time and a row do not fit one word
}

#[test]
fn many_rows_of_one_key_most_of_them_close_together() {
    let is_far = |number: u64| (number >> 40).is_multiple_of(5000);
    check_many(|number| {
        if is_far(number) {
            i64::MAX - 3
        } else {
            (number >> 50) as i64
        }
    });
    check_many(|number| {
        if is_far(number) {
            (number >> 20) as i64
        } else {
            5
        }
    });
}

#[test]
fn many_rows_of_one_key_and_one_time() {
    let is_far = |number: u64| (number >> 40).is_multiple_of(1_000_000);
    check_many(|number| if is_far(number) { i64::MIN } else { i64::MAX });
    check_many(|_| -1);
}

/// Whether each position is there once, and none is before another by more than the 2048th part of the
/// ranks.
fn check_rough(ranks: &[u32]) {
    let order = rough_order(ranks);
    let mut positions = order.clone();
    positions.sort();
    assert_eq!(positions, (0..ranks.len() as u32).collect::<Vec<_>>());
    let most = ranks.iter().max().copied().unwrap_or_default();
    let width = ((u64::from(most) + 1).next_power_of_two() >> 11).max(1);
    let mut highest = 0;
    for position in order {
        let rank = u64::from(ranks[position as usize]);
        assert!(highest < rank + width, "{rank} after {highest}");
        highest = highest.max(rank);
    }
}

#[test]
fn ranks_are_roughly_in_order_and_few_of_them_exactly() {
    check_rough(&[]);
    check_rough(&[u32::MAX, 0, u32::MAX - 1, 1 << 31]);
    assert_eq!(rough_order(&[2047, 3, 0, 3, 2046]), [2, 1, 3, 4, 0]);
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_any_ranks_are_roughly_in_order(ranks in prop::collection::vec(any::<u32>(), 0..99), shift in 0..32_u32) {
        check_rough(&ranks.into_iter().map(|rank| rank >> shift).collect::<Vec<_>>());
    }

    #[test]
    fn oracle_rows_are_sorted(rows in prop::collection::vec((0..5_u32, 0..9_i64), 0..60), step in any::<i64>(), base in any::<i64>()) {
        let rows: Vec<Row> = rows.into_iter().map(|(key, time)| (key, base.wrapping_add(time.wrapping_mul(step)))).collect();
        check(&rows);
    }
}
