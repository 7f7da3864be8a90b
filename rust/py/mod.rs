//! The Python binding. It extracts arguments, releases the interpreter, and maps errors.
//!
//! | file | contents |
//! |---|---|
//! | this file | queries; packers and mergers |
//! | `py_operator` | the record operator |
//! | `py_shard_sessions` | the room `shard` |
//! | `open_table` | the column `state` of a table of open windows |
//! | `fold` | an aggregate implemented in Python, and its accumulators |
//! | `functions` | the functions of such an aggregate, and their results |
//! | `py_sliding_folds` | such aggregates over sliding windows, from rows in time order |
//! | `exception` | errors as exceptions, and an exception of a user function |
//! | `encoding` | encodes pages as text and changes as blocks, and decodes them |
//! | `row_columns` | the columns of windows, repeated for their rows |

mod encoding;
mod exception;
mod fold;
mod functions;
mod open_table;
mod py_operator;
mod py_shard_sessions;
mod py_sliding_folds;
mod row_columns;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyArray, PyDataType, PyRecordBatch, PySchema};

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::batch::row_windows::RowWindows;
use crate::core::error::{Error, caught};
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::format::shard_key;
use crate::input::columns::QueryColumns;
use crate::keys;
use crate::plan::query::Query;
use crate::plan::spec::{Function, Spec};

fn to_python<'py>(py: Python<'py>, batches: Vec<RecordBatch>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    batches
        .into_iter()
        .map(|batch| PyRecordBatch::new(batch).into_pyarrow(py))
        .collect()
}

fn counted<'py>(py: Python<'py>, counters: Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("records", counters.records + counters.left_out())?;
    dict.set_item("null_keys", counters.null_keys)?;
    dict.set_item("null_times", counters.null_times)?;
    dict.set_item("null_ties", counters.null_ties)?;
    dict.set_item("bad_gaps", counters.bad_gaps)?;
    dict.set_item("bad_ends", counters.bad_ends)?;
    dict.set_item("clamped_gaps", counters.clamped_gaps)?;
    dict.set_item("ticks", counters.ticks)?;
    Ok(dict)
}

/// Windows, the window of each row, and the counters.
type WindowsAndRows<'py> = (
    Vec<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyDict>,
);

fn threads_or_cores(threads: Option<NonZeroUsize>) -> usize {
    threads
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get)
}

#[pyclass(frozen, name = "Query", module = "windrow._native")]
struct PyQuery(Arc<Query>);

#[pymethods]
impl PyQuery {
    #[new]
    #[pyo3(signature = (spec, schema, memory=None))]
    fn new(spec: &str, schema: PySchema, memory: Option<usize>) -> PyResult<Self> {
        let mut query = Query::new(&Spec::parse(spec)?, &schema.into_inner())?;
        query.limits.result_bytes = memory;
        Ok(Self(Arc::new(query)))
    }

    #[staticmethod]
    fn of_rows(spec: &str, schema: PySchema) -> PyResult<Self> {
        Ok(Self(Arc::new(Query::of_rows(
            &Spec::parse(spec)?,
            &schema.into_inner(),
        )?)))
    }

    #[staticmethod]
    #[pyo3(signature = (spec, schema, memory=None))]
    fn with_rows(spec: &str, schema: PySchema, memory: Option<usize>) -> PyResult<Self> {
        let mut query = Query::with_rows(&Spec::parse(spec)?, &schema.into_inner())?;
        query.limits.result_bytes = memory;
        Ok(Self(Arc::new(query)))
    }

    #[staticmethod]
    fn rows_with_windows(spec: &str, schema: PySchema) -> PyResult<Self> {
        let query = Query::rows_with_windows(&Spec::parse(spec)?, &schema.into_inner())?;
        Ok(Self(Arc::new(query)))
    }

    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PySchema::new(Arc::clone(&self.0.output)).into_pyarrow(py)
    }

    #[getter]
    fn overflows(&self) -> u64 {
        self.0.overflows()
    }

    #[getter]
    fn overlapping_lists(&self) -> Vec<&str> {
        self.0.overlapping_lists()
    }

    #[pyo3(signature = (reader, threads=None, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        reader: AnyRecordBatch,
        threads: Option<NonZeroUsize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Bound<'py, PyDict>)> {
        let reader = reader.into_reader()?;
        let threads = threads_or_cores(threads);
        let batches = reader.map(|batch| Ok(batch?));
        let (results, counters) = detached(py, || {
            let interrupt = progress.map_or_else(signals, signals_and_progress);
            self.0.run(batches, threads, &interrupt)
        })?;
        Ok((to_python(py, results)?, counted(py, counters)?))
    }

    #[pyo3(signature = (reader, threads=None, progress=None))]
    fn run_with_rows<'py>(
        &self,
        py: Python<'py>,
        reader: AnyRecordBatch,
        threads: Option<NonZeroUsize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<WindowsAndRows<'py>> {
        let reader = reader.into_reader()?;
        let batches = reader.map(|batch| Ok(batch?));
        let threads = threads_or_cores(threads);
        let RowWindows {
            windows,
            of_row,
            after,
            counters,
        } = detached(py, || {
            let interrupt = progress.map_or_else(signals, signals_and_progress);
            self.0.run_with_rows(batches, threads, &interrupt)
        })?;
        let after =
            (!after.is_empty()).then(|| ("after", Arc::new(Int64Array::from(after)) as ArrayRef));
        let columns = [("window", Arc::new(of_row) as ArrayRef)]
            .into_iter()
            .chain(after);
        let of_row = RecordBatch::try_from_iter(columns).map_err(Error::from)?;
        let of_row = PyRecordBatch::new(of_row).into_pyarrow(py)?;
        Ok((to_python(py, windows)?, of_row, counted(py, counters)?))
    }

    fn faults(&self, py: Python<'_>, batch: PyRecordBatch) -> PyResult<Py<PyAny>> {
        let batch = batch.into_inner();
        let found = detached(py, || {
            Ok(QueryColumns::read(&self.0, &batch)?.faults.names())
        })?;
        let names = PyArray::from_array_ref(Arc::new(found));
        Ok(names.to_pyarrow(py)?.unbind())
    }

    fn packer(&self, partition: u32) -> PyResult<PyPacker> {
        let packer = Packer::new(Arc::clone(&self.0), partition)?;
        Ok(PyPacker(Mutex::new(packer.with_interrupt(signals()))))
    }

    fn merger(&self) -> PyResult<PyMerger> {
        let merger = Merger::new(&self.0)?.with_interrupt(signals());
        Ok(PyMerger(Mutex::new(merger)))
    }
}

#[pyclass(frozen, name = "Packer", module = "windrow._native")]
struct PyPacker(Mutex<Packer>);

#[pymethods]
impl PyPacker {
    #[pyo3(signature = (batch, packers=1))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        batch: PyRecordBatch,
        packers: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batch = batch.into_inner();
        to_python(
            py,
            detached(py, || lock(&self.0)?.push_with_others(&batch, packers))?,
        )
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        to_python(py, detached(py, || lock(&self.0)?.finish())?)
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counted(py, lock(&self.0)?.counters())
    }

    fn latest(&self) -> PyResult<Vec<Option<i64>>> {
        let packer = lock(&self.0)?;
        let latest = packer.latest().iter();
        Ok(latest.map(|time| time.map(|time| time.0)).collect())
    }
}

#[pyclass(frozen, name = "Merger", module = "windrow._native")]
struct PyMerger(Mutex<Merger>);

/// A shard number and windows or rows of this shard.
type OfShard<'py> = (i32, Bound<'py, PyAny>);

#[pymethods]
impl PyMerger {
    fn push<'py>(&self, py: Python<'py>, batch: PyRecordBatch) -> PyResult<Vec<OfShard<'py>>> {
        let batch = batch.into_inner();
        of_shards(py, detached(py, || lock(&self.0)?.push(&batch))?)
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<OfShard<'py>>> {
        of_shards(py, detached(py, || lock(&self.0)?.finish())?)
    }
}

fn of_shards(py: Python<'_>, merged: Vec<(i32, RecordBatch)>) -> PyResult<Vec<OfShard<'_>>> {
    merged
        .into_iter()
        .map(|(shard, batch)| Ok((shard, PyRecordBatch::new(batch).into_pyarrow(py)?)))
        .collect()
}

/// The keys that Spark uses for shards, in order of shard number.
#[pyfunction]
fn shard_keys(shards: u32) -> Vec<i32> {
    (0..shards).map(shard_key::of).collect()
}

/// Whether a column of this type can be a key.
#[pyfunction]
fn groupable(data_type: PyDataType) -> bool {
    keys::groupable(&data_type.into_inner())
}

/// The bytes of the key of each row, by which stores order keys. `None` if all key columns are null.
#[pyfunction]
fn sort_keys(py: Python<'_>, keys: PyRecordBatch) -> PyResult<Vec<Option<Bound<'_, PyBytes>>>> {
    let keys = keys.into_inner();
    let sorted = detached(py, || keys::sort_key::sort_keys(&keys))?;
    let bytes = |key: Option<&[u8]>| key.map(|key| PyBytes::new(py, key));
    Ok(sorted.iter().map(bytes).collect())
}

/// Whether a function compares the values of its input column at this position with each other.
#[pyfunction]
fn compares(function: &str, column: usize) -> PyResult<bool> {
    Ok(Function::by_name(function)?.compares(column))
}

/// Stops work when a signal handler raises, for example on Ctrl-C. The handler's exception becomes
/// the cause. Python runs handlers only on its main thread, so calls on other threads continue.
fn signals() -> Interrupt {
    Interrupt::new(|| Ok(Python::attach(|py| py.check_signals())?))
}

/// Like [`signals`], but also reports progress. After each signal check it calls `progress` with
/// the number of key partitions that have returned their windows.
fn signals_and_progress(progress: Py<PyAny>) -> Interrupt {
    let parts = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&parts);
    let poll = move |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        progress.call1(py, (seen.load(Ordering::Relaxed),))?;
        Ok(())
    };
    Interrupt::new(move || Ok(Python::attach(&poll)?)).counting(parts)
}

/// Does `work` while other threads may use the interpreter. A panic in it becomes an error: Python's
/// `except Exception` does not catch a panic.
fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    Ok(py.detach(|| caught(work))?)
}

/// Allows one call at a time. Fails if an earlier call panicked, because the state is then
/// unusable.
fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, Error> {
    mutex.lock().map_err(|_| POISONED)
}

const POISONED: Error = Error::Internal("an earlier call on this object panicked");

/// Like [`lock`], for an object whose Python functions can call back into it. That is an error;
/// waiting would deadlock.
fn lock_at_once<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, Error> {
    mutex.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::Format {
            what: "operator",
            reason: "it is at work on another call: one call at a time".into(),
        },
        TryLockError::Poisoned(_) => POISONED,
    })
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(groupable, module)?)?;
    module.add_function(wrap_pyfunction!(compares, module)?)?;
    module.add_function(wrap_pyfunction!(sort_keys, module)?)?;
    module.add_function(wrap_pyfunction!(encoding::encode_page, module)?)?;
    module.add_function(wrap_pyfunction!(encoding::decode_page, module)?)?;
    module.add_function(wrap_pyfunction!(encoding::encode_changes, module)?)?;
    module.add_function(wrap_pyfunction!(encoding::decode_changes, module)?)?;
    module.add_function(wrap_pyfunction!(open_table::tally_open, module)?)?;
    module.add_function(wrap_pyfunction!(open_table::join_clocks, module)?)?;
    module.add_function(wrap_pyfunction!(open_table::read_clock, module)?)?;
    module.add_function(wrap_pyfunction!(open_table::change_clock, module)?)?;
    module.add_function(wrap_pyfunction!(shard_keys, module)?)?;
    module.add_class::<PyQuery>()?;
    module.add_class::<PyPacker>()?;
    module.add_class::<PyMerger>()?;
    module.add_class::<py_operator::PyOperator>()?;
    module.add_class::<py_sliding_folds::PySlidingFolds>()?;
    module.add_class::<py_shard_sessions::PyShardSessions>()?;
    module.add_class::<row_columns::PyRowColumns>()?;
    Ok(())
}
