//! The Python class of the record operator.

use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::{ArrayRef, RecordBatch};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::fold::{Fold, Rows};
use super::{detached, lock_at_once, to_python};
use crate::core::error::{Error, Result, caught};
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::spec::Spec;
use crate::record::open::clock::{OpenClock, OpenTally};
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use crate::record::user_function::UserFunction;
use crate::state::page::ChangedPage;
use crate::state::source_time::SourceTime;

#[pyclass(frozen, name = "Operator", module = "windrow._native")]
pub(super) struct PyOperator {
    operator: Mutex<Operator>,
    /// For each Python aggregate, the object that makes its rows of a batch, and where it stores
    /// them.
    folds: Vec<(Py<PyAny>, Rows)>,
}

pub(super) type PageTuple<'py> = (String, Option<Bound<'py, PyBytes>>);

impl PyOperator {
    fn lock(&self) -> Result<MutexGuard<'_, Operator>> {
        lock_at_once(&self.operator)
    }

    /// Pushes the rows of a batch. First, each Python aggregate makes its own rows.
    fn push_with_rows<'py>(
        &self,
        py: Python<'py>,
        batch: &RecordBatch,
        push: impl FnOnce(&mut Operator) -> Result<Vec<RecordBatch>> + Send,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut made = Vec::with_capacity(self.folds.len());
        for (fold, _) in &self.folds {
            let shown = PyRecordBatch::new(batch.clone()).into_pyarrow(py)?;
            let rows = fold.bind(py).call_method1("rows", (shown,))?.try_iter()?;
            made.push(
                rows.map(|row| row.map(Bound::unbind))
                    .collect::<PyResult<Vec<_>>>()?,
            );
        }
        let push = |operator: &mut Operator| {
            for ((_, rows), made) in self.folds.iter().zip(made) {
                *super::lock(rows)? = made;
            }
            push(operator)
        };
        to_python(py, self.work(py, push)?)
    }

    /// Runs `work` on the operator. Releases the interpreter unless there are Python functions.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Operator) -> Result<T> + Send,
    ) -> PyResult<T> {
        if self.folds.is_empty() {
            return detached(py, || work(&mut *self.lock()?));
        }
        let done = caught(|| {
            // The rows belong to the call that has the lock.
            let mut operator = self.lock()?;
            let result = work(&mut operator);
            self.folds
                .iter()
                .for_each(|(_, rows)| drop(rows.lock().map(|mut rows| std::mem::take(&mut *rows))));
            result
        });
        Ok(done?)
    }
}

/// Converts progress from Python: tuples of input, source and time.
pub(super) fn source_times(progress: Vec<(usize, u32, i64)>) -> Vec<SourceTime> {
    progress
        .into_iter()
        .map(|(input, source, time)| SourceTime {
            input,
            source: Source(source),
            time: Time(time),
        })
        .collect()
}

/// Converts pages to Python tuples.
pub(super) fn page_tuples(py: Python<'_>, pages: Vec<ChangedPage>) -> Vec<PageTuple<'_>> {
    pages
        .into_iter()
        .map(|(name, page)| (name, page.map(|page| PyBytes::new(py, &page))))
        .collect()
}

/// Converts the counters to a Python dict.
pub(super) fn counter_dict(
    py: Python<'_>,
    counters: Counters,
    windows_open: u64,
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in [
        ("records", counters.records),
        ("late", counters.late),
        ("behind", counters.behind),
        ("windows_refused", counters.windows_refused),
        ("late_emitted", counters.late_emitted),
        ("null_keys", counters.null_keys),
        ("null_times", counters.null_times),
        ("null_ties", counters.null_ties),
        ("null_values", counters.null_values),
        ("bad_gaps", counters.bad_gaps),
        ("bad_ends", counters.bad_ends),
        ("clamped_gaps", counters.clamped_gaps),
        ("ticks", counters.ticks),
        ("bad_ticks", counters.bad_ticks),
        ("updates", counters.updates),
        ("overflows", counters.overflows),
        ("windows_closed", counters.windows_closed),
        ("windows_open", windows_open),
    ] {
        dict.set_item(name, count)?;
    }
    Ok(dict)
}

/// A micro-batch from Python: a batch, the latest time of its sources, and the times of its records.
fn micro_batch(
    batch: PyRecordBatch,
    progress: Vec<(usize, u32, i64)>,
    times: Option<PyRecordBatch>,
) -> (RecordBatch, Vec<SourceTime>, Option<RecordBatch>) {
    let times = times.map(PyRecordBatch::into_inner);
    (batch.into_inner(), source_times(progress), times)
}

fn columns(bound: Option<PyRecordBatch>) -> Option<Vec<ArrayRef>> {
    bound.map(|batch| batch.into_inner().columns().to_vec())
}

#[pymethods]
impl PyOperator {
    #[new]
    #[pyo3(signature = (spec, schema, folds=Vec::new()))]
    fn new(spec: &str, schema: PySchema, folds: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let rows: Vec<Rows> = folds.iter().map(|_| Rows::default()).collect();
        let made = folds
            .iter()
            .zip(&rows)
            .map(|(fold, rows)| Fold::new(fold, Arc::clone(rows)));
        let made = made
            .map(|fold| fold.map(|(fold, field)| (Box::new(fold) as Box<dyn UserFunction>, field)));
        let operator = Operator::new(
            &Spec::parse(spec)?,
            &schema.into_inner(),
            made.collect::<PyResult<_>>()?,
        )?
        .with_interrupt(super::signals());
        let folds = folds.into_iter().map(Bound::unbind).zip(rows).collect();
        Ok(Self {
            operator: Mutex::new(operator),
            folds,
        })
    }

    #[getter]
    fn change_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PySchema::new(self.lock()?.schema()).into_pyarrow(py)
    }

    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PySchema::new(self.lock()?.output()).into_pyarrow(py)
    }

    #[getter]
    fn overflows(&self) -> PyResult<u64> {
        Ok(self.lock()?.counters().overflows)
    }

    #[getter]
    fn stream_time(&self) -> PyResult<Option<i64>> {
        let operator = self.lock()?;
        operator.check_restored()?;
        Ok(operator.stream_time().map(|time| time.0))
    }

    #[getter]
    fn source_times(&self) -> PyResult<Vec<(usize, u32, i64)>> {
        let operator = self.lock()?;
        operator.check_restored()?;
        let times = operator.source_times();
        Ok(times
            .map(|(input, source, time)| (input, source.0, time.0))
            .collect())
    }

    fn push<'py>(&self, py: Python<'py>, batch: PyRecordBatch) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batch = batch.into_inner();
        self.push_with_rows(py, &batch, |operator| operator.push(&batch))
    }

    #[pyo3(signature = (batch, progress, times=None))]
    fn push_micro_batch<'py>(
        &self,
        py: Python<'py>,
        batch: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
        times: Option<PyRecordBatch>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (batch, progress, times) = micro_batch(batch, progress, times);
        self.push_with_rows(py, &batch, |operator| {
            operator.push_micro_batch(&batch, times.as_ref(), &progress)
        })
    }

    #[pyo3(signature = (batch, progress, times=None))]
    fn push_returned_records<'py>(
        &self,
        py: Python<'py>,
        batch: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
        times: Option<PyRecordBatch>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (batch, progress, times) = micro_batch(batch, progress, times);
        let push = |operator: &mut Operator| {
            operator.push_returned_records(&batch, times.as_ref(), &progress)
        };
        to_python(py, self.work(py, push)?)
    }

    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let left_out = self.work(py, Operator::take_left_out)?;
        left_out
            .map(|rows| PyRecordBatch::new(rows).into_pyarrow(py))
            .transpose()
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        to_python(py, self.work(py, Operator::finish)?)
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counters, open) = {
            let operator = self.lock()?;
            operator.check_restored()?;
            (operator.counters(), operator.windows_open())
        };
        counter_dict(py, counters, open)
    }

    #[pyo3(signature = (first, last, start, end, *, by="bounds", backward=false))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the bounds of a query, spelled out"
    )]
    fn select<'py>(
        &self,
        py: Python<'py>,
        first: Option<PyRecordBatch>,
        last: Option<PyRecordBatch>,
        start: Option<i64>,
        end: Option<i64>,
        by: &str,
        backward: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (from, to) = (start.map_or(Time::MIN, Time), end.map_or(Time::MAX, Time));
        let query = match by {
            "bounds" => StoreQuery::Between { from, to },
            "window" => StoreQuery::Exact {
                start: from,
                end: to,
            },
            "due" => StoreQuery::Due { from, to },
            other => {
                return Err(PyErr::from(Error::Argument {
                    argument: "by".into(),
                    got: format!("{other:?}"),
                    allowed: "\"bounds\", \"window\" or \"due\"".into(),
                }));
            }
        };
        let keys = (columns(first), columns(last));
        to_python(
            py,
            self.work(py, |operator| operator.select(query, &keys, backward))?,
        )
    }

    fn pages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let pages = self.work(py, |operator| operator.pages())?;
        Ok(pages.iter().map(|page| PyBytes::new(py, page)).collect())
    }

    fn changed_pages<'py>(&self, py: Python<'py>) -> PyResult<Vec<PageTuple<'py>>> {
        Ok(page_tuples(py, self.work(py, Operator::changed_pages)?))
    }

    fn restore(&self, py: Python<'_>, pages: Vec<PyBackedBytes>) -> PyResult<()> {
        let pages: Vec<&[u8]> = pages.iter().map(|page| &**page).collect();
        self.work(py, |operator| operator.restore(&pages))
    }

    /// The columns of `open` are key columns, the bounds of windows, and `state`.
    #[pyo3(signature = (clock, tally, rows, by_source=false))]
    fn resume_open(
        &self,
        py: Python<'_>,
        clock: (PyBackedBytes, Option<i64>),
        tally: (u64, u64),
        rows: Vec<PyRecordBatch>,
        by_source: bool,
    ) -> PyResult<(i64, u64)> {
        let (clock, time) = (OpenClock::read(&clock.0)?, clock.1);
        let tally = OpenTally {
            clocks: Vec::new(),
            rows: tally.0,
            checksum: tally.1,
        };
        let rows: Vec<RecordBatch> = rows.into_iter().map(PyRecordBatch::into_inner).collect();
        self.work(py, |operator| {
            operator.resume_open(&clock, time, &tally, &rows, by_source)
        })?;
        Ok((clock.to, clock.batch))
    }

    #[pyo3(signature = (to, batch, sources=Vec::new()))]
    fn open_windows<'py>(
        &self,
        py: Python<'py>,
        to: Option<i64>,
        batch: u64,
        sources: Vec<String>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Bound<'py, PyBytes>)> {
        let (rows, clock) = self.work(py, |operator| {
            operator.open_windows(to.map(Time), batch, &sources)
        })?;
        Ok((to_python(py, rows)?, PyBytes::new(py, &clock.seal()?)))
    }

    #[pyo3(signature = (head, keys, progress, times=None))]
    fn touched(
        &self,
        py: Python<'_>,
        head: PyBackedBytes,
        keys: PyRecordBatch,
        progress: Vec<(usize, u32, i64)>,
        times: Option<PyRecordBatch>,
    ) -> PyResult<Option<Vec<String>>> {
        let (keys, progress, times) = micro_batch(keys, progress, times);
        self.work(py, |operator| {
            operator.touched(&head, &keys, times.as_ref(), &progress)
        })
    }

    fn restore_touched(&self, py: Python<'_>, pages: Vec<PyBackedBytes>) -> PyResult<Vec<String>> {
        let pages: Vec<&[u8]> = pages.iter().map(|page| &**page).collect();
        self.work(py, |operator| operator.restore_touched(&pages))
    }

    fn restore_part(&self, py: Python<'_>, pages: Vec<PyBackedBytes>) -> PyResult<()> {
        let pages: Vec<&[u8]> = pages.iter().map(|page| &**page).collect();
        self.work(py, |operator| operator.restore_part(&pages))
    }
}
