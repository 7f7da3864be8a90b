//! Rows of tables of open windows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch};

use super::pages::continues;
use super::queries::{Saved, all, of_bytes, records};
use crate::core::error::Error;
use crate::core::time::Time;
use crate::keys::sort_key::sort_keys;
use crate::record::open::clock::{OpenClock, OpenTally};
use crate::record::open::row::{OpenRow, OpenState, RowKind, seal};
use crate::record::operator::Operator;

/// The rows of a table: key columns, the bounds of windows as integers, `state`.
pub(crate) fn plain(rows: &RecordBatch) -> RecordBatch {
    let place = rows.schema().index_of("window").unwrap();
    let window = rows.column(place).as_struct();
    let bound = |name: &str| {
        let times = window.column_by_name(name).unwrap();
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let at = |row| (window.is_valid(row) && times.is_valid(row)).then(|| times.value(row));
        Arc::new((0..times.len()).map(at).collect::<Int64Array>()) as ArrayRef
    };
    let schema = rows.schema();
    let keys = schema.fields().iter().zip(rows.columns()).take(place);
    let keys = keys.map(|(field, key)| (field.name().as_str(), Arc::clone(key)));
    let state = Arc::clone(rows.column_by_name("state").unwrap());
    let others = [
        ("start", bound("start")),
        ("end", bound("end")),
        ("state", state),
    ];
    let columns = keys
        .chain(others)
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The table of an operator, if its results fit their types.
fn table(operator: &mut Operator) -> Option<(Vec<RecordBatch>, OpenClock)> {
    let (rows, clock) = operator.open_windows(Some(Time(120)), 3, &[]).ok()?;
    Some((rows.iter().map(plain).collect(), clock))
}

/// Whether a table is read. Then an operator continues, and writes a table that it reads again.
fn resumes(saved: &Saved, rows: &[RecordBatch], clock: &OpenClock) -> bool {
    let resumed = |rows: &[RecordBatch], clock: &OpenClock, by_source| {
        let mut operator = saved.operator();
        let tally = OpenTally {
            clocks: Vec::new(),
            rows: clock.rows,
            checksum: clock.checksum,
        };
        operator.resume_open(clock, Some(clock.to), &tally, rows, by_source)?;
        Ok::<_, Error>(operator)
    };
    let Ok(mut operator) = resumed(rows, clock, false) else {
        return false;
    };
    if let Some((rows, clock)) = table(&mut operator) {
        let mut again = resumed(&rows, &clock, false).unwrap();
        assert_eq!(table(&mut again).unwrap(), (rows, clock));
    }
    continues(&mut operator);
    if let Ok(mut operator) = resumed(rows, clock, true) {
        continues(&mut operator);
    }
    true
}

/// The table of a query, of the operator that has its pages.
fn own_table(saved: &Saved) -> &(Vec<RecordBatch>, OpenClock) {
    saved.table.get_or_init(|| {
        let mut operator = saved.operator();
        let pages: Vec<&[u8]> = saved.pages.iter().map(Vec::as_slice).collect();
        operator.restore(&pages).unwrap();
        table(&mut operator).unwrap()
    })
}

/// The number of a query, and the payload of a row in its table.
pub(super) fn read_row(bytes: &[u8]) -> bool {
    let Some((saved, payload)) = of_bytes(bytes) else {
        return false;
    };
    let (rows, clock) = own_table(saved);
    let row = rows[0].slice(0, 1);
    let (state, mut columns) = (row.num_columns() - 1, row.columns().to_vec());
    let keys = row.project(&(0..state - 2).collect::<Vec<_>>()).unwrap();
    let keys = sort_keys(&keys).unwrap();
    let at = |place: usize| row.column(place).as_primitive::<Int64Type>().value(0);
    let own = OpenRow {
        key: keys.value(0),
        start: Some(at(state - 2)),
        end: Some(at(state - 1)),
    };
    let (checksum, sealed) = seal(RowKind::Window, own, payload);
    columns[state] = Arc::new(BinaryArray::from_vec(vec![&sealed]));
    let clock = OpenClock {
        rows: 1,
        checksum,
        ..clock.clone()
    };
    let row = RecordBatch::try_new(row.schema(), columns).unwrap();
    resumes(saved, &[row], &clock)
}

/// The first row of each table.
pub(super) fn rows() -> Vec<Vec<u8>> {
    let seeds = all().map(|(number, saved)| {
        let (rows, _) = own_table(saved);
        let states = rows[0].columns().last().unwrap().as_binary::<i32>();
        let state = OpenState::read(states.value(0)).unwrap();
        [&[number], state.unchecked()].concat()
    });
    seeds.collect()
}

/// The number of a query, and the JSON of the clock row of its table.
pub(super) fn read_clock(bytes: &[u8]) -> bool {
    let Some((saved, json)) = of_bytes(bytes) else {
        return false;
    };
    let Ok(mut clock) = serde_json::from_slice::<OpenClock>(json) else {
        return false;
    };
    assert_eq!(OpenClock::read(&clock.seal().unwrap()).unwrap(), clock);
    let (rows, own) = own_table(saved);
    let is_read = resumes(saved, rows, &clock);
    drop(OpenClock::of_shards(&[clock.clone(), own.clone()]));
    clock.set(records().num_rows() as i64);
    resumes(saved, rows, &clock) || is_read
}

/// The clock row of each table.
pub(super) fn clocks() -> Vec<Vec<u8>> {
    let seeds = all().map(|(number, saved)| {
        let (_, clock) = own_table(saved);
        [&[number], clock.to_json().unwrap().as_bytes()].concat()
    });
    seeds.collect()
}
