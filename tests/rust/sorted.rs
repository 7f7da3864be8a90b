//! Rows by key and time against a stable sort, where times and row numbers fit in one word and
//! where they do not.

use proptest::prelude::*;
use windrow::key::KeyId;
use windrow::sort::Sorted;
use windrow::time::Time;

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
    let sorted = Sorted::new(&keys, &times);
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
    assert_eq!(sorted.rows().collect::<Vec<_>>(), numbers);
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

proptest! {
    #[test]
    fn oracle_rows_are_sorted(rows in prop::collection::vec((0..5_u32, 0..9_i64), 0..60), step in any::<i64>(), base in any::<i64>()) {
        let rows: Vec<Row> = rows.into_iter().map(|(key, time)| (key, base.wrapping_add(time.wrapping_mul(step)))).collect();
        check(&rows);
    }
}
