//! Records of a stream with the sliding windows that end at them, against all records that were
//! accepted, in micro-batches, in order and not, and with a restart behind each.

use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::record::operator::Operator;
use crate::state::source_time::SourceTime;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use proptest::prelude::*;
use std::sync::Arc;

use crate::record::tests::operator_batches::{
    Event, SLIDING, batch, event, events, operator, spec_of,
};

const DIFFERENCE: i64 = 10;
/// Without a list, windows of many records use two stacks.
const NUMBERS: &str = r#"[{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},{"name":"id","function":"window_id"}]"#;
const LISTS: &str = r#"[{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},{"name":"all","function":"collect_list","columns":["x"]}]"#;

fn returning(aggregates: &str, grace: i64) -> Operator {
    operator(&spec_of(
        SLIDING,
        aggregates,
        &format!(r#","over":true,"grace":{grace}"#),
    ))
}

/// The start and the end of a window, how many records it has, and the sum of their values.
type Found = (i64, i64, i64, Option<i64>);

/// The window of each row; none where it has none.
fn windows(batches: &[RecordBatch]) -> Vec<Option<Found>> {
    batches.iter().flat_map(of_batch).collect()
}

fn of_batch(batch: &RecordBatch) -> Vec<Option<Found>> {
    let window = batch.column(0).as_struct();
    let bound = |nth: usize| {
        window
            .column(nth)
            .as_primitive::<TimestampMicrosecondType>()
    };
    let (counts, totals) = (
        batch.column(1).as_primitive::<Int64Type>(),
        batch.column(2).as_primitive::<Int64Type>(),
    );
    let row = |row: usize| {
        assert!(
            batch
                .columns()
                .iter()
                .skip(1)
                .all(|column| window.is_valid(row) || column.is_null(row))
        );
        let total = totals.is_valid(row).then(|| totals.value(row));
        window.is_valid(row).then(|| {
            (
                bound(0).value(row),
                bound(1).value(row),
                counts.value(row),
                total,
            )
        })
    };
    (0..batch.num_rows()).map(row).collect()
}

/// All records that were accepted, by key, time and value.
#[derive(Default)]
struct Accepted {
    kept: Vec<(&'static str, i64, Option<i64>)>,
    latest: Option<i64>,
    late: u64,
}

impl Accepted {
    fn add(&mut self, row: &Event, grace: i64) -> bool {
        let (Some(key), Some(time)) = (row.key, row.time) else {
            return false;
        };
        let is_late = self.latest.is_some_and(|latest| time < latest - grace);
        self.late += u64::from(is_late);
        if !is_late {
            self.kept.push((key, time, row.value));
        }
        !is_late
    }

    fn observe(&mut self, row: &Event) {
        if row.key.is_some() {
            self.latest = self.latest.max(row.time);
        }
    }

    fn window(&self, row: &Event) -> Found {
        let (end, start) = (row.time.unwrap(), row.time.unwrap() - DIFFERENCE);
        let own: Vec<Option<i64>> = self
            .kept
            .iter()
            .filter(|(key, time, _)| Some(*key) == row.key && (start..=end).contains(time))
            .map(|&(_, _, value)| value)
            .collect();
        let values = own.iter().flatten();
        let total = values.clone().next().map(|_| values.sum());
        (start, end, own.len() as i64, total)
    }
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(192))]

    #[test]
    fn each_record_has_the_window_of_its_moment(
        rows in events(60), cuts in prop::collection::vec(0..60_usize, 0..4), grace in 0..30_i64, dense in any::<bool>(),
        ordered in any::<bool>(), lists in any::<bool>(),
    ) {
        let near = |row: Event| Event { time: row.time.map(|time| if dense { time / 8 } else { time }), tick: false, ..row };
        let rows: Vec<Event> = rows.into_iter().map(near).collect();
        let aggregates = if lists { LISTS } else { NUMBERS };
        let (mut saved, mut expected) = (Vec::<Vec<u8>>::new(), Accepted::default());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(rows.len())).chain([0, rows.len()]).collect();
        cuts.sort_unstable();
        for range in cuts.windows(2) {
            let rows = &rows[range[0]..range[1]];
            let mut operator = returning(aggregates, grace);
            if !saved.is_empty() {
                operator.restore(&saved.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            }
            let mut windows_then = Vec::new();
            let mut seen = Vec::new();
            if ordered {
                for row in rows {
                    expected.observe(row);
                    let fine = expected.add(row, grace);
                    windows_then.push(fine.then(|| expected.window(row)));
                    seen.push(expected.latest);
                }
            } else {
                let fine: Vec<bool> = rows.iter().map(|row| expected.add(row, grace)).collect();
                windows_then.extend(rows.iter().zip(fine).map(|(row, fine)| fine.then(|| expected.window(row))));
                rows.iter().for_each(|row| expected.observe(row));
            }
            let times: ArrayRef = Arc::new(Int64Array::from(seen));
            let times = RecordBatch::try_from_iter_with_nullable([("seen", times, true)]).unwrap();
            let progress: Vec<SourceTime> = expected.latest.into_iter()
                .map(|latest| SourceTime { input: 0, source: Source(0), time: Time(latest) }).collect();
            let answer = operator.push_returned_records(&batch(rows), ordered.then_some(&times), &progress).unwrap();
            prop_assert_eq!(windows(&answer), windows_then);
            prop_assert_eq!(operator.counters().late, expected.late);
            saved = operator.pages().unwrap();
        }
    }
}

#[test]
fn a_time_is_forgotten_when_the_close_time_is_past_its_last_window() {
    let mut operator = returning(NUMBERS, 5);
    for (time, open) in [(0, 1), (15, 2), (16, 2), (31, 2)] {
        let progress = SourceTime {
            input: 0,
            source: Source(0),
            time: Time(time),
        };
        operator
            .push_returned_records(&batch(&[event("a", time, 1)]), None, &[progress])
            .unwrap();
        assert_eq!(operator.windows_open(), open, "{time}");
    }
}

#[test]
fn rows_come_back_of_a_query_that_asks_for_them_alone() {
    let mut operator = operator(&spec_of(SLIDING, NUMBERS, r#","grace":0"#));
    assert!(
        operator
            .push_returned_records(&batch(&[event("a", 0, 1)]), None, &[])
            .is_err()
    );
}
