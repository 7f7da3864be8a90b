//! Rows of open windows that are damaged are refused. `SOAK_DAMAGES` sets how many are tried.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch};

use crate::core::time::Time;
use crate::plan::continuation::Continuation;
use crate::record::open_reader::OpenReader;
use crate::record::operator::Operator;
use crate::record::tests::operator_batches::{
    DYNAMIC, SESSIONS, SLIDING, batch, event, operator, spec_of,
};
use crate::state::open_clock::OpenClock;

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
    let continued = operator
        .snapshot
        .fingerprint
        .continues(&clock.specification);
    Table {
        continued: continued.unwrap(),
        operator,
        clock,
        rows,
    }
}

/// Each row as the key, the bounds of its window, and its state.
pub(crate) fn apart(rows: &RecordBatch) -> Vec<RecordBatch> {
    let window = rows.column_by_name("window").unwrap().as_struct();
    let bound = |name: &str| {
        let times = window.column_by_name(name).unwrap();
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let at = |row| (window.is_valid(row) && times.is_valid(row)).then(|| times.value(row));
        let ticks: Int64Array = (0..times.len()).map(at).collect();
        Arc::new(ticks) as ArrayRef
    };
    let columns = [
        ("k", Arc::clone(rows.column(0))),
        ("start", bound("start")),
        ("end", bound("end")),
        ("state", Arc::clone(rows.column_by_name("state").unwrap())),
    ];
    let whole = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let whole = whole.unwrap();
    (0..whole.num_rows())
        .map(|row| whole.slice(row, 1))
        .collect()
}

fn with_state(row: &RecordBatch, state: &[u8]) -> RecordBatch {
    let mut columns = row.columns().to_vec();
    columns[3] = Arc::new(BinaryArray::from_vec(vec![state]));
    RecordBatch::try_new(row.schema(), columns).unwrap()
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    /// Some flipped bits, a cut, or other bytes.
    fn damaged(&mut self, state: &[u8]) -> Vec<u8> {
        let mut damaged = state.to_vec();
        match self.below(10) {
            0 => damaged.truncate(self.below(state.len())),
            1 => damaged.insert(self.below(state.len() + 1), self.below(256) as u8),
            _ => {
                for _ in 0..=self.below(4) {
                    let place = self.below(state.len());
                    damaged[place] ^= 1 << self.below(8);
                }
            }
        }
        damaged
    }
}

#[test]
fn a_damaged_row_is_never_read() {
    let damages = std::env::var("SOAK_DAMAGES").ok();
    let damages: usize = damages.map_or(100_000, |damages| damages.parse().unwrap());
    let tables = [SESSIONS, DYNAMIC, SLIDING].map(table);
    let readers = tables.each_ref().map(|table| {
        let state = &table.operator.state;
        let reader = OpenReader::new(state, &table.clock, &table.continued).unwrap();
        for row in &table.rows {
            reader.read(state, row, &mut HashSet::new()).unwrap();
        }
        reader
    });
    let clocks = tables.each_ref().map(|table| table.clock.seal().unwrap());
    let mut dice = Dice(36);
    for number in 0..damages {
        let place = dice.below(tables.len());
        let (table, row) = (&tables[place], dice.below(tables[place].rows.len() + 1));
        let Some(row) = table.rows.get(row) else {
            let damaged = dice.damaged(&clocks[place]);
            let read = OpenClock::read(&damaged).and_then(|clock| clock.check_time(Some(12)));
            assert!(read.is_err() || damaged == clocks[place], "damage {number}");
            continue;
        };
        let state = row.column(3).as_binary::<i32>().value(0);
        let damaged = dice.damaged(state);
        let given = with_state(row, &damaged);
        let read = readers[place].read(&table.operator.state, &given, &mut HashSet::new());
        assert!(read.is_err() || damaged == state, "damage {number}");
    }
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
