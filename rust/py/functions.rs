//! The Python functions of one aggregate, and their results.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::{PyArray, PyField};

use super::exception::UserException;
use crate::plan::function_failure::{FunctionFailure, Outcome};

/// The functions of one aggregate.
pub(super) struct FoldFunctions {
    init: Py<PyAny>,
    /// One function per input, or `None` for an input that the aggregate ignores.
    adds: Vec<Option<Py<PyAny>>>,
    /// One function per input. It adds a row to several accumulators and appends the results to a
    /// list.
    adds_each: Vec<Option<Py<PyAny>>>,
    merge: Py<PyAny>,
    /// Whether `reduce` uses its one function for both `add` and `merge`.
    reduces: bool,
    to_arrow: Py<PyAny>,
    from_arrow: Py<PyAny>,
    user_frame: Py<PyAny>,
    copied: Py<PyAny>,
}

/// The result of a function.
pub(super) struct Accumulator {
    pub(super) value: Py<PyAny>,
    from: FoldFunction,
}

/// A step of a fold over rows: the row; `init`, `copy` or `add`; and for `add`, whether its
/// accumulator came from `init` and whether it is None.
#[derive(FromPyObject)]
pub(super) struct Step(
    pub(super) usize,
    pub(super) String,
    pub(super) bool,
    pub(super) bool,
);

/// A user function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoldFunction {
    Init,
    Add,
    Merge,
}

impl FoldFunctions {
    /// Reads the functions from a Python object with `type`, `init`, `adds`, `adds_each`, `merge`,
    /// `reduces`, `to_arrow`, `from_arrow`, `copied` and `user_frame`.
    pub(super) fn new(fold: &Bound<'_, PyAny>) -> PyResult<(Self, Field)> {
        let part = |name: &str| fold.getattr(name).map(Bound::unbind);
        let functions = Self {
            init: part("init")?,
            adds: fold.getattr("adds")?.extract()?,
            adds_each: fold.getattr("adds_each")?.extract()?,
            merge: part("merge")?,
            reduces: fold.getattr("reduces")?.extract()?,
            to_arrow: part("to_arrow")?,
            from_arrow: part("from_arrow")?,
            user_frame: part("user_frame")?,
            copied: part("copied")?,
        };
        let field = fold.getattr("type")?.extract::<PyField>()?.into_inner();
        Ok((functions, field.as_ref().clone()))
    }

    /// Whether the aggregate takes the rows of an input.
    pub(super) fn takes(&self, input: usize) -> bool {
        self.adds.get(input).is_some_and(Option::is_some)
    }

    /// The accumulator without records.
    pub(super) fn identity(&self, py: Python<'_>) -> Outcome<Accumulator> {
        match self.init.call0(py) {
            Ok(value) => Ok(Accumulator {
                value,
                from: FoldFunction::Init,
            }),
            Err(error) => Err(self.failure(py, "init", error)),
        }
    }

    /// Adds a row of an input to an accumulator. `row` returns `None` if the batch has no such row.
    pub(super) fn add(
        &self,
        py: Python<'_>,
        accumulator: Accumulator,
        input: usize,
        row: impl FnOnce() -> Option<Py<PyAny>>,
    ) -> Outcome<Accumulator> {
        let add = self
            .adds
            .get(input)
            .ok_or_else(|| self.missing(format!("there is no function for input {input}")))?;
        let Some(add) = add else {
            return Ok(accumulator);
        };
        let row = row().ok_or_else(|| self.missing("the batch has no such row".into()))?;
        let handed = [(accumulator.from, accumulator.value.is_none(py))];
        match add.call1(py, (accumulator.value, row)) {
            Ok(value) => Ok(Accumulator {
                value,
                from: FoldFunction::Add,
            }),
            Err(error) => Err(self.failure_of(py, FoldFunction::Add, &handed, error)),
        }
    }

    /// Adds a row of an input to each of several accumulators. A failure gives the index of the
    /// accumulator.
    pub(super) fn add_each(
        &self,
        py: Python<'_>,
        accumulators: Vec<Accumulator>,
        input: usize,
        row: Option<Py<PyAny>>,
    ) -> Outcome<Vec<Accumulator>> {
        let Some(Some(add_each)) = self.adds_each.get(input) else {
            return Err(self.missing(format!("there is no function for input {input}")));
        };
        let row = row.ok_or_else(|| self.missing("the batch has no such row".into()))?;
        let handed: Vec<_> = accumulators
            .iter()
            .map(|accumulator| (accumulator.from, accumulator.value.is_none(py)))
            .collect();
        let raised = |error| self.failure(py, self.name(FoldFunction::Add), error);
        let values = accumulators
            .into_iter()
            .map(|accumulator| accumulator.value);
        let (values, added) = (PyList::new(py, values).map_err(raised)?, PyList::empty(py));
        if let Err(error) = add_each.call1(py, (values, row, &added)) {
            let nth = added.len();
            let handed = handed.get(nth..=nth).unwrap_or_default();
            let failure = self.failure_of(py, FoldFunction::Add, handed, error);
            return Err(FunctionFailure {
                nth: Some(nth),
                ..failure
            });
        }
        if added.len() != handed.len() {
            return Err(self.missing("a row was not added to each accumulator".into()));
        }
        let accumulator = |value: Bound<'_, PyAny>| Accumulator {
            value: value.unbind(),
            from: FoldFunction::Add,
        };
        Ok(added.iter().map(accumulator).collect())
    }

    /// The failure for a row that cannot be added.
    pub(super) fn missing(&self, what: String) -> FunctionFailure {
        FunctionFailure {
            function: self.name(FoldFunction::Add).to_owned(),
            cause: what.into(),
            nth: None,
            exceeds_capacity: false,
        }
    }

    /// Merges two accumulators.
    pub(super) fn merge(
        &self,
        py: Python<'_>,
        older: Accumulator,
        later: Accumulator,
    ) -> Outcome<Accumulator> {
        let handed = [&older, &later].map(|each| (each.from, each.value.is_none(py)));
        match self.merge.call1(py, (older.value, later.value)) {
            Ok(value) => Ok(Accumulator {
                value,
                from: FoldFunction::Merge,
            }),
            Err(error) => Err(self.failure_of(py, FoldFunction::Merge, &handed, error)),
        }
    }

    /// Copies an accumulator, so that changes to one do not affect the other.
    pub(super) fn copy(&self, py: Python<'_>, accumulator: &Accumulator) -> Outcome<Accumulator> {
        match self.copied.call1(py, (&accumulator.value,)) {
            Ok(value) => Ok(Accumulator {
                value,
                from: accumulator.from,
            }),
            Err(error) => Err(self.failure(py, "copy of an accumulator", error)),
        }
    }

    /// Converts values to an array. Fails if a value would not convert back unchanged, or if the
    /// values do not fit one array.
    pub(super) fn array<'v, 'py: 'v>(
        &self,
        py: Python<'py>,
        values: impl ExactSizeIterator<Item = Option<&'v Bound<'py, PyAny>>>,
    ) -> Outcome<ArrayRef> {
        let to_type = |raised| self.failure(py, "conversion to its type", raised);
        let too_large = |cause: &str| FunctionFailure {
            function: "conversion to its type".to_owned(),
            cause: cause.into(),
            nth: None,
            exceeds_capacity: true,
        };
        let values = PyList::new(py, values).map_err(to_type)?;
        match self.to_arrow.bind(py).call1((values,)) {
            // pyarrow splits long strings and binaries into chunks.
            Ok(array) if array.hasattr("chunks").map_err(to_type)? => {
                Err(too_large("the values do not fit one array"))
            }
            Ok(array) => Ok(array.extract::<PyArray>().map_err(to_type)?.into_inner().0),
            Err(raised) => match raised.get_type(py).name() {
                Ok(name) if name == "ArrowCapacityError" => Err(too_large(&raised.to_string())),
                _ => Err(to_type(raised)),
            },
        }
    }

    /// Like [`Self::array`], but the failure of a single value gives its index.
    pub(super) fn array_of(
        &self,
        py: Python<'_>,
        values: &[Option<&Bound<'_, PyAny>>],
    ) -> Outcome<ArrayRef> {
        self.array(py, values.iter().copied()).map_err(|failure| {
            if failure.exceeds_capacity {
                return failure;
            }
            let fails = |value: &Option<&Bound<'_, PyAny>>| {
                self.array(py, std::iter::once(*value)).is_err()
            };
            let nth = values.iter().position(fails);
            FunctionFailure { nth, ..failure }
        })
    }

    /// Converts an array from [`Self::array`] back to the accumulators of stored windows.
    pub(super) fn accumulators(
        &self,
        py: Python<'_>,
        array: &ArrayRef,
    ) -> Outcome<Vec<Accumulator>> {
        let load = || -> PyResult<Vec<Accumulator>> {
            let array = PyArray::from_array_ref(Arc::clone(array));
            let values = self.from_arrow.bind(py).call1((array.to_pyarrow(py)?,))?;
            let stored = |value: Bound<'_, PyAny>| Accumulator {
                value: value.unbind(),
                from: FoldFunction::Add, // a record was added to every stored window
            };
            values.try_iter()?.map(|value| value.map(stored)).collect()
        };
        load().map_err(|error| self.failure(py, "conversion from its type", error))
    }

    /// Describes the failure of a function.
    pub(super) fn failure(&self, py: Python<'_>, function: &str, error: PyErr) -> FunctionFailure {
        // If the line cannot be found, the error itself still matters.
        let frame = self.user_frame.call1(py, (error.traceback(py),));
        let user_frame = frame
            .and_then(|frame| frame.extract(py))
            .unwrap_or_default();
        FunctionFailure {
            function: function.to_owned(),
            cause: Box::new(UserException { error, user_frame }),
            nth: None,
            exceeds_capacity: false,
        }
    }

    /// The failure of a function that received accumulators. If one of them is None and caused the
    /// exception, the message also names the function that returned None.
    fn failure_of(
        &self,
        py: Python<'_>,
        function: FoldFunction,
        handed: &[(FoldFunction, bool)],
        error: PyErr,
    ) -> FunctionFailure {
        let name = self.name(function);
        let of_none = error.value(py).to_string().contains("NoneType");
        let from = handed.iter().rev().find(|(_, is_none)| *is_none);
        match from.filter(|_| of_none) {
            Some(&(from, _)) => {
                let from = self.name(from);
                let both = format!("{from} returned None, not the accumulator, then {name}");
                self.failure(py, &both, error)
            }
            None => self.failure(py, name, error),
        }
    }

    /// The failure of one step of a fold.
    pub(super) fn failure_at(&self, py: Python<'_>, step: &Step, error: PyErr) -> FunctionFailure {
        let Step(_, doing, is_first, is_none) = step;
        let from = if *is_first {
            FoldFunction::Init
        } else {
            FoldFunction::Add
        };
        match doing.as_str() {
            "add" => self.failure_of(py, FoldFunction::Add, &[(from, *is_none)], error),
            "init" => self.failure(py, "init", error),
            _ => self.failure(py, "copy of an accumulator", error),
        }
    }

    /// The name of the argument for a function.
    fn name(&self, function: FoldFunction) -> &'static str {
        match function {
            FoldFunction::Init => "init",
            FoldFunction::Add | FoldFunction::Merge if self.reduces => "fn",
            FoldFunction::Add => "add",
            FoldFunction::Merge => "merge",
        }
    }
}
