//! The sessions of a shard of a stream.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::py_operator::{PageTuple, counter_dict, page_tuples, source_times};
use super::{detached, lock, to_python};
use crate::plan::spec::Spec;
use crate::shard::shard_sessions::ShardSessions;

#[pyclass(frozen, name = "ShardSessions", module = "windrow._native")]
pub(super) struct PyShardSessions(Mutex<ShardSessions>);

/// Rows, and changed pages.
type FinishedTuple<'py> = (Vec<Bound<'py, PyAny>>, Vec<PageTuple<'py>>);

#[pymethods]
impl PyShardSessions {
    #[new]
    fn new(spec: &str, schema: PySchema, shard: u32) -> PyResult<Self> {
        let sessions = ShardSessions::new(&Spec::parse(spec)?, &schema.into_inner(), shard)?;
        let sessions = sessions.with_interrupt(super::signals());
        Ok(Self(Mutex::new(sessions)))
    }

    fn restore(&self, py: Python<'_>, head: PyBackedBytes) -> PyResult<()> {
        detached(py, || lock(&self.0)?.restore(&head))
    }

    fn push(
        &self,
        py: Python<'_>,
        packed: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
    ) -> PyResult<Vec<String>> {
        let (packed, progress) = (packed.into_inner(), source_times(progress));
        detached(py, || lock(&self.0)?.push(&packed, &progress))
    }

    fn push_records(
        &self,
        py: Python<'_>,
        records: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
    ) -> PyResult<Vec<String>> {
        let (records, progress) = (records.into_inner(), source_times(progress));
        detached(py, || lock(&self.0)?.push_records(&records, &progress))
    }

    fn push_records_in_time(
        &self,
        py: Python<'_>,
        packed: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
    ) -> PyResult<Option<Vec<String>>> {
        let (packed, progress) = (packed.into_inner(), source_times(progress));
        detached(py, || {
            lock(&self.0)?.push_records_in_time(&packed, &progress)
        })
    }

    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let left_out = detached(py, || lock(&self.0)?.take_left_out())?;
        left_out
            .map(|rows| PyRecordBatch::new(rows).into_pyarrow(py))
            .transpose()
    }

    fn finish<'py>(
        &self,
        py: Python<'py>,
        pages: Vec<PyBackedBytes>,
    ) -> PyResult<FinishedTuple<'py>> {
        let pages: Vec<&[u8]> = pages.iter().map(|page| &**page).collect();
        let (rows, changed) = detached(py, || lock(&self.0)?.finish(&pages))?;
        Ok((to_python(py, rows)?, page_tuples(py, changed)))
    }

    #[getter]
    fn stream_time(&self) -> PyResult<Option<i64>> {
        Ok(lock(&self.0)?.stream_time().map(|time| time.0))
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sessions = lock(&self.0)?;
        counter_dict(py, sessions.counters(), sessions.windows_open())
    }
}
