//! The column `state` of a table of open windows.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use crate::core::error::Error;
use crate::record::open::clock::{OpenClock, OpenTally};

/// The positions of clock rows, the number of other rows and the sum of their checksums, and the
/// first row that has no state, with the reason.
type Tally = (Vec<usize>, u64, u64, Option<(usize, String)>);

/// Counts the rows of a table by its column `state`, the only column of `states`.
#[pyfunction]
pub(super) fn tally_open(states: PyRecordBatch) -> PyResult<Tally> {
    let states = states.into_inner();
    let column = states.columns().first();
    let column = column.and_then(|column| column.as_binary_opt::<i32>());
    let column = column.ok_or(Error::Internal("a column of states is not binary"))?;
    let rows = (0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row)));
    Ok(match OpenTally::of(rows) {
        Ok(tally) => (tally.clocks, tally.rows, tally.checksum, None),
        Err(bad) => (Vec::new(), 0, 0, Some(bad)),
    })
}

/// The clock row of a table whose shards have these clock rows, and its time.
#[pyfunction]
pub(super) fn join_clocks<'py>(
    py: Python<'py>,
    clocks: Vec<PyBackedBytes>,
) -> PyResult<(Bound<'py, PyBytes>, i64)> {
    let clocks = clocks.iter().map(|bytes| OpenClock::read(bytes));
    let clocks = clocks.collect::<Result<Vec<_>, _>>()?;
    let clock = OpenClock::of_shards(&clocks)?;
    Ok((PyBytes::new(py, &clock.seal()?), clock.to))
}

/// A clock row as JSON.
#[pyfunction]
pub(super) fn read_clock(clock: PyBackedBytes) -> PyResult<String> {
    Ok(OpenClock::read(&clock)?.to_json()?)
}

/// The clock row of a table whose time is set to `to`, or that lacks some rows: their number, and the
/// sum of their checksums.
#[pyfunction]
#[pyo3(signature = (clock, to=None, without=(0, 0)))]
pub(super) fn change_clock<'py>(
    py: Python<'py>,
    clock: PyBackedBytes,
    to: Option<i64>,
    without: (u64, u64),
) -> PyResult<Bound<'py, PyBytes>> {
    let mut clock = OpenClock::read(&clock)?;
    clock.remove(without.0, without.1)?;
    if let Some(to) = to {
        clock.set(to);
    }
    Ok(PyBytes::new(py, &clock.seal()?))
}
