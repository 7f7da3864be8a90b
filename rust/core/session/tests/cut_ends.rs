//! Rules for sessions of records that have an end. The random tests of `cuts` have such records, too.

use crate::core::session::tests::cut_oracle::{CutRecord, Rules, plain};
use crate::core::session::tests::cuts::{check, longest};

/// Records of one key from a time to an end, with a gap.
fn lasting(bounds: &[(i64, i64)], gap: i64) -> Vec<CutRecord> {
    let record = |&(time, end): &(i64, i64)| CutRecord {
        length: end - time,
        ..plain(time, gap)
    };
    bounds.iter().map(record).collect()
}

#[test]
fn only_records_of_one_time_and_tie_are_longer_than_a_session_may_be() {
    let records = lasting(&[(0, 20), (1, 2), (2, 9), (3, 12)], 5);
    check(&records, longest(10), &[(0, 20), (1, 9), (3, 12)]);
    let records = lasting(&[(0, 20), (0, 30), (1, 2)], 5);
    check(&records, longest(10), &[(0, 30), (1, 2)]);
    check(&lasting(&[(0, 4), (2, 10)], 0), longest(10), &[(0, 10)]);
    check(
        &lasting(&[(0, 4), (2, 11)], 0),
        longest(10),
        &[(0, 4), (2, 11)],
    );
}

#[test]
fn a_border_of_a_day_ends_a_session_before_the_next_record_and_cuts_none() {
    let day = Rules {
        day: Some(0),
        ..Rules::default()
    };
    let records = lasting(&[(-9, 5), (-3, -2), (0, 3), (4, 4)], 9);
    check(&records, day, &[(-9, 5), (0, 4)]);
}

#[test]
fn a_record_reaches_from_its_end_and_one_that_ends_its_session_reaches_its_end() {
    let mut records = lasting(&[(0, 20), (1, 1), (25, 30), (36, 36)], 5);
    check(&records, Rules::default(), &[(0, 30), (36, 36)]);
    records[0].ends = true;
    check(
        &records,
        Rules::default(),
        &[(0, 20), (1, 1), (25, 30), (36, 36)],
    );
}
