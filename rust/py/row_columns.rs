//! The columns of windows, repeated for their rows.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use super::{detached, signals, threads_or_cores, to_python};
use crate::batch::row_windows::RowColumns;

#[pyclass(frozen, name = "RowColumns", module = "windrow._native")]
pub(super) struct PyRowColumns {
    columns: RowColumns,
    /// The number of the next batch.
    next: AtomicUsize,
}

#[pymethods]
impl PyRowColumns {
    #[new]
    #[pyo3(signature = (windows, of_row, memory=None, threads=None, positions=Vec::new()))]
    fn new(
        py: Python<'_>,
        windows: Vec<PyRecordBatch>,
        of_row: PyRecordBatch,
        memory: Option<usize>,
        threads: Option<NonZeroUsize>,
        positions: Vec<String>,
    ) -> PyResult<Self> {
        let threads = threads_or_cores(threads);
        let windows: Vec<RecordBatch> =
            windows.into_iter().map(PyRecordBatch::into_inner).collect();
        let of_row = of_row.into_inner();
        let columns = detached(py, || {
            RowColumns::new(&windows, &of_row, &positions, memory, threads, &signals())
        })?;
        Ok(Self {
            columns,
            next: AtomicUsize::new(0),
        })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let batch = detached(py, || self.columns.batch(number))?;
        batch
            .map(|batch| PyRecordBatch::new(batch).into_pyarrow(py))
            .transpose()
    }

    #[pyo3(signature = (threads=None))]
    fn read_all<'py>(
        &self,
        py: Python<'py>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let threads = threads_or_cores(threads);
        to_python(py, detached(py, || self.columns.all(threads, &signals()))?)
    }
}
