//! The state of a row of open windows is refused in another row.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, RecordBatch};

use crate::core::time::Time;
use crate::fuzz::plain;
use crate::plan::continuation::Continuation;
use crate::record::open::clock::OpenClock;
use crate::record::open::reader::OpenReader;
use crate::record::operator::Operator;
use crate::record::tests::operator_batches::{SESSIONS, batch, event, operator, spec_of};

const AGGREGATES: &str = r#"[{"name":"n","function":"count"},
    {"name":"total","function":"sum","columns":["x"]},
    {"name":"list","function":"collect_list","columns":["x"]},
    {"name":"last","function":"last","columns":["x"]}]"#;

/// A table of open windows, and an operator that may read it.
struct Table {
    operator: Operator,
    clock: OpenClock,
    continued: Continuation,
    rows: Vec<RecordBatch>,
}

fn table(windows: &str) -> Table {
    let spec = spec_of(windows, AGGREGATES, r#","grace":5"#);
    let mut written = operator(&spec);
    let records = [
        event("a", 1, 3),
        event("", 4, -4),
        event("a", 5, 5),
        event("ab", 7, 6),
        event("a", 9, 7),
    ];
    written.push(&batch(&records)).unwrap();
    let (rows, clock) = written.open_windows(Some(Time(12)), 3, &[]).unwrap();
    let rows: Vec<RecordBatch> = rows.iter().flat_map(apart).collect();
    assert!(rows.len() >= 3, "{windows}");
    let operator = operator(&spec);
    let continued = operator.snapshot.fingerprint.continues(&clock.query());
    Table {
        continued: continued.unwrap(),
        operator,
        clock,
        rows,
    }
}

/// Each row as the key, the bounds of its window, and its state.
pub(crate) fn apart(rows: &RecordBatch) -> Vec<RecordBatch> {
    let whole = plain(rows);
    (0..whole.num_rows())
        .map(|row| whole.slice(row, 1))
        .collect()
}

fn with_state(row: &RecordBatch, state: &[u8]) -> RecordBatch {
    let mut columns = row.columns().to_vec();
    columns[3] = Arc::new(BinaryArray::from_vec(vec![state]));
    RecordBatch::try_new(row.schema(), columns).unwrap()
}

#[test]
fn a_row_belongs_to_its_key_and_window() {
    let table = table(SESSIONS);
    let state = &table.operator.state;
    let reader = OpenReader::new(state, &table.clock, &table.continued).unwrap();
    let states: Vec<&[u8]> = table
        .rows
        .iter()
        .map(|row| row.column(3).as_binary::<i32>().value(0))
        .collect();
    for (nth, row) in table.rows.iter().enumerate() {
        for (other, bytes) in states.iter().enumerate() {
            let given = with_state(row, bytes);
            let read = reader.read(state, &given, &mut HashSet::new());
            assert_eq!(read.is_ok(), nth == other, "{nth} {other}");
        }
    }
}
