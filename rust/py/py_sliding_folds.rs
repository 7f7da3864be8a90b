//! Python functions over sliding windows, from rows in time order.

use std::collections::VecDeque;
use std::sync::Mutex;

use arrow_array::{ArrayRef, RecordBatch};
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::{PyRecordBatch, PySchema};

use super::functions::{FoldFunctions, Step};
use super::{lock_at_once, to_python};
use crate::batch::sliding_folds::{RowNumber, RunFailure, RunFold, SlidingFolds};
use crate::core::aggregate::RowSpan;
use crate::core::error::{Result, caught};
use crate::plan::function_failure::FunctionFailure;
use crate::plan::spec::Spec;

#[pyclass(frozen, name = "SlidingFolds", module = "windrow._native")]
pub(super) struct PySlidingFolds(Mutex<Folds>);

struct Folds {
    windows: SlidingFolds,
    functions: Vec<RunFunctions>,
    /// The first row that the functions still keep.
    first_row: RowNumber,
}

/// The functions of one aggregate, and the rows as passed to them.
struct RunFunctions {
    fold: Py<PyAny>,
    functions: FoldFunctions,
    rows: VecDeque<Py<PyAny>>,
}

impl RunFunctions {
    /// Computes the values of windows. `numbers` gives the number of each row; `first_row` is the
    /// number of the first row in `self.rows`.
    fn values(
        &self,
        py: Python<'_>,
        first_row: RowNumber,
        numbers: &[RowNumber],
        runs: &[RowSpan],
    ) -> std::result::Result<ArrayRef, RunFailure> {
        let from = runs.first().map_or(0, |run| run.from);
        let to = runs.iter().map(|run| run.to).max().unwrap_or(from);
        let numbers = numbers.get(from as usize..to as usize).unwrap_or_default();
        let rows = numbers.iter().filter_map(|number| {
            let place = usize::try_from(number.checked_sub(first_row)?).ok()?;
            self.rows.get(place).map(|row| row.clone_ref(py))
        });
        let rows: Vec<Py<PyAny>> = rows.collect();
        let failed = |failure| RunFailure { failure, row: None };
        if rows.len() != numbers.len() {
            return Err(failed(
                self.functions
                    .missing("a row of a window is missing".into()),
            ));
        }
        let raised = |error| failed(self.functions.failure(py, "fold", error));
        let starts = PyList::new(py, runs.iter().map(|run| run.from - from)).map_err(raised)?;
        let ends = PyList::new(py, runs.iter().map(|run| run.to - from)).map_err(raised)?;
        let (rows, made) = (PyList::new(py, rows).map_err(raised)?, PyList::empty(py));
        let steps = PyList::empty(py);
        let arguments = (rows, starts, ends, &made, &steps);
        if let Err(error) = self.fold.call_method1(py, "fold_runs", arguments) {
            let step: Option<Step> = steps.get_item(0).and_then(|step| step.extract()).ok();
            let row = step.as_ref().map(|step| from as usize + step.0);
            let failure = match &step {
                Some(step) => self.functions.failure_at(py, step, error),
                None => self.functions.failure(py, "fold", error),
            };
            let nth = Some(made.len());
            let failure = FunctionFailure { nth, ..failure };
            return Err(RunFailure { failure, row });
        }
        if made.len() != runs.len() {
            return Err(failed(
                self.functions.missing("a window has no value".into()),
            ));
        }
        let made: Vec<Bound<'_, PyAny>> = made.iter().collect();
        let values: Vec<Option<&Bound<'_, PyAny>>> = made.iter().map(Some).collect();
        self.functions.array_of(py, &values).map_err(failed)
    }
}

impl PySlidingFolds {
    fn work<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut SlidingFolds, &mut RunFold<'_>) -> Result<Vec<RecordBatch>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let results = caught(|| {
            let mut folds = lock_at_once(&self.0)?;
            let Folds {
                windows,
                functions,
                first_row,
            } = &mut *folds;
            let mut fold = |nth: usize, numbers: &[RowNumber], runs: &[RowSpan]| {
                let known: Option<&RunFunctions> = functions.get(nth);
                known.map_or_else(
                    || Err(missing_functions()),
                    |functions| functions.values(py, *first_row, numbers, runs),
                )
            };
            let results = work(windows, &mut fold)?;
            let kept = windows.first_row();
            let before = usize::try_from(kept - *first_row).unwrap_or(usize::MAX);
            for functions in functions {
                functions.rows.drain(..before.min(functions.rows.len()));
            }
            *first_row = kept;
            Ok(results)
        })?;
        to_python(py, results)
    }
}

fn missing_functions() -> RunFailure {
    RunFailure {
        failure: FunctionFailure {
            function: "aggregate".into(),
            cause: "it has no functions".into(),
            nth: None,
            exceeds_capacity: false,
        },
        row: None,
    }
}

#[pymethods]
impl PySlidingFolds {
    #[new]
    fn new(spec: &str, schema: PySchema, folds: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(folds.len());
        let mut functions = Vec::with_capacity(folds.len());
        for fold in folds {
            let (known, field) = FoldFunctions::new(&fold)?;
            fields.push(field);
            functions.push(RunFunctions {
                fold: fold.unbind(),
                functions: known,
                rows: VecDeque::new(),
            });
        }
        let windows = SlidingFolds::new(&Spec::parse(spec)?, &schema.into_inner(), &fields)?;
        Ok(Self(Mutex::new(Folds {
            windows: windows.with_interrupt(super::signals()),
            functions,
            first_row: 0,
        })))
    }

    #[getter]
    fn output_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PySchema::new(lock_at_once(&self.0)?.windows.output()).into_pyarrow(py)
    }

    #[getter]
    fn overflows(&self) -> PyResult<u64> {
        Ok(lock_at_once(&self.0)?.windows.overflows())
    }

    fn push<'py>(&self, py: Python<'py>, batch: PyRecordBatch) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batch = batch.into_inner();
        for functions in &mut lock_at_once(&self.0)?.functions {
            let shown = PyRecordBatch::new(batch.clone()).into_pyarrow(py)?;
            let rows = functions.fold.bind(py).call_method1("rows", (shown,))?;
            for row in rows.try_iter()? {
                functions.rows.push_back(row?.unbind());
            }
        }
        self.work(py, |windows, fold| windows.push(&batch, fold))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.work(py, SlidingFolds::finish)
    }
}
