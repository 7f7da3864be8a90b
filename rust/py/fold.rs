//! Aggregates of Python functions: one Python object per slot.

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use pyo3_arrow::{PyArray, PyField};

use super::user_exception::UserException;
use crate::aggregate::slot::Slot;
use crate::arrow::stream::user_function::{FunctionFailure, Outcome, UserFunction};

/// The rows of the batch that is pushed, as the functions are called with them.
pub(super) type Rows = Arc<Mutex<Vec<Py<PyAny>>>>;

/// The functions of one aggregate, and an accumulator for each slot.
pub(super) struct Fold {
    init: Py<PyAny>,
    /// One for each input; none for an input whose rows it does not take.
    adds: Vec<Option<Py<PyAny>>>,
    merge: Py<PyAny>,
    /// Whether those are both of the one function of `reduce`.
    reduces: bool,
    to_arrow: Py<PyAny>,
    from_arrow: Py<PyAny>,
    user_frame: Py<PyAny>,
    deepcopy: Py<PyAny>,
    rows: Rows,
    accumulators: Vec<Option<Accumulator>>,
}

/// What a function returned.
struct Accumulator {
    value: Py<PyAny>,
    from: FoldFunction,
}

/// A function of the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FoldFunction {
    Init,
    Add,
    Merge,
}

impl Fold {
    /// Of a Python object with `type`, `init`, `adds`, `merge`, `reduces`, `to_arrow`,
    /// `from_arrow` and `user_frame`.
    pub(super) fn new(fold: &Bound<'_, PyAny>, rows: Rows) -> PyResult<(Self, Field)> {
        let part = |name: &str| fold.getattr(name).map(Bound::unbind);
        let deepcopy = fold.py().import("copy")?.getattr("deepcopy")?.unbind();
        let functions = Self {
            init: part("init")?,
            adds: fold.getattr("adds")?.extract()?,
            merge: part("merge")?,
            reduces: fold.getattr("reduces")?.extract()?,
            to_arrow: part("to_arrow")?,
            from_arrow: part("from_arrow")?,
            user_frame: part("user_frame")?,
            deepcopy,
            rows,
            accumulators: Vec::new(),
        };
        Ok((
            functions,
            fold.getattr("type")?
                .extract::<PyField>()?
                .into_inner()
                .as_ref()
                .clone(),
        ))
    }

    /// The failure of a function.
    fn failure(&self, py: Python<'_>, function: &str, error: PyErr) -> FunctionFailure {
        // The error itself matters more than a line that cannot be found.
        let told = self.user_frame.call1(py, (error.traceback(py),));
        let user_frame = told.and_then(|frame| frame.extract(py)).unwrap_or_default();
        FunctionFailure {
            function: function.to_owned(),
            cause: Box::new(UserException { error, user_frame }),
            nth: None,
            crowded: false,
        }
    }

    /// The failure of a function that was handed accumulators: where one is None, and the
    /// exception is of that, it begins with the function that returned it.
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

    /// The argument that takes a function.
    fn name(&self, function: FoldFunction) -> &'static str {
        match function {
            FoldFunction::Init => "init",
            FoldFunction::Add | FoldFunction::Merge if self.reduces => "fn",
            FoldFunction::Add => "add",
            FoldFunction::Merge => "merge",
        }
    }

    /// The accumulator of no records.
    fn identity(&self, py: Python<'_>) -> Outcome<Accumulator> {
        match self.init.call0(py) {
            Ok(value) => Ok(Accumulator {
                value,
                from: FoldFunction::Init,
            }),
            Err(error) => Err(self.failure(py, "init", error)),
        }
    }

    /// Takes the accumulator out of a slot; a new one where it has none.
    fn take(&mut self, py: Python<'_>, slot: Slot) -> Outcome<Accumulator> {
        match self
            .accumulators
            .get_mut(slot.0 as usize)
            .and_then(Option::take)
        {
            Some(accumulator) => Ok(accumulator),
            None => self.identity(py),
        }
    }

    fn merged(
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

    /// The values of slots as an array; an error for one that would not come back from it as it is,
    /// and for more than fit one array.
    fn array(&self, py: Python<'_>, slots: &[Slot]) -> Outcome<ArrayRef> {
        let to_type = |raised| self.failure(py, "conversion to its type", raised);
        let crowded = |cause: &str| FunctionFailure {
            function: "conversion to its type".to_owned(),
            cause: cause.into(),
            nth: None,
            crowded: true,
        };
        let values = slots.iter().map(|&slot| self.get(py, slot));
        let values = PyList::new(py, values).map_err(to_type)?;
        match self.to_arrow.bind(py).call1((values,)) {
            // pyarrow cuts strings and binaries into chunks.
            Ok(array) if array.hasattr("chunks").map_err(to_type)? => {
                Err(crowded("the values do not fit one array"))
            }
            Ok(array) => Ok(array.extract::<PyArray>().map_err(to_type)?.into_inner().0),
            Err(raised) => match raised.get_type(py).name() {
                Ok(name) if name == "ArrowCapacityError" => Err(crowded(&raised.to_string())),
                _ => Err(to_type(raised)),
            },
        }
    }

    fn get<'py>(&self, py: Python<'py>, slot: Slot) -> Option<&Bound<'py, PyAny>> {
        self.accumulators
            .get(slot.0 as usize)
            .and_then(Option::as_ref)
            .map(|accumulator| accumulator.value.bind(py))
    }

    fn set(&mut self, slot: Slot, accumulator: Accumulator) {
        if let Some(entry) = self.accumulators.get_mut(slot.0 as usize) {
            *entry = Some(accumulator);
        }
    }
}

/// Whether a value is immutable, so that two slots may share it.
fn is_immutable(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyBytes>()
}

impl UserFunction for Fold {
    fn resize(&mut self, slots: usize) {
        if slots > self.accumulators.len() {
            self.accumulators.resize_with(slots, || None);
        }
    }

    fn release(&mut self, slot: Slot) {
        if let Some(entry) = self.accumulators.get_mut(slot.0 as usize) {
            *entry = None;
        }
    }

    fn takes(&self, input: usize) -> bool {
        self.adds.get(input).is_some_and(Option::is_some)
    }

    fn update(&mut self, slot: Slot, row: usize, input: usize) -> Outcome<()> {
        Python::attach(|py| {
            let accumulator = self.take(py, slot)?;
            let missing = |what: String| FunctionFailure {
                function: self.name(FoldFunction::Add).to_owned(),
                cause: what.into(),
                nth: None,
                crowded: false,
            };
            let add = self
                .adds
                .get(input)
                .ok_or_else(|| missing(format!("there is no function for input {input}")))?;
            let added = match add {
                Some(add) => {
                    let row = self
                        .rows
                        .lock()
                        .ok()
                        .and_then(|rows| rows.get(row).map(|row| row.clone_ref(py)));
                    let row = row.ok_or_else(|| missing("the batch has no such row".into()))?;
                    let handed = [(accumulator.from, accumulator.value.is_none(py))];
                    match add.call1(py, (accumulator.value, row)) {
                        Ok(value) => Accumulator {
                            value,
                            from: FoldFunction::Add,
                        },
                        Err(error) => {
                            return Err(self.failure_of(py, FoldFunction::Add, &handed, error));
                        }
                    }
                }
                None => accumulator,
            };
            self.set(slot, added);
            Ok(())
        })
    }

    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let (older, younger) = (self.take(py, into)?, self.take(py, from)?);
            let merged = self.merged(py, older, younger)?;
            self.set(into, merged);
            Ok(())
        })
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let copy = match self
                .accumulators
                .get(from.0 as usize)
                .and_then(Option::as_ref)
            {
                Some(Accumulator { value, from }) => Some(Accumulator {
                    value: if is_immutable(value.bind(py)) {
                        value.clone_ref(py)
                    } else {
                        self.deepcopy
                            .call1(py, (value,))
                            .map_err(|error| self.failure(py, "copy of an accumulator", error))?
                    },
                    from: *from,
                }),
                None => None,
            };
            if let Some(entry) = self.accumulators.get_mut(to.0 as usize) {
                *entry = copy;
            }
            Ok(())
        })
    }

    fn renew(&mut self, slot: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let (identity, accumulator) = (self.identity(py)?, self.take(py, slot)?);
            let merged = self.merged(py, identity, accumulator)?;
            self.set(slot, merged);
            Ok(())
        })
    }

    fn is_null(&self, slot: Slot) -> bool {
        Python::attach(|py| self.get(py, slot).is_none_or(|value| value.is_none()))
    }

    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef> {
        Python::attach(|py| {
            self.array(py, slots).map_err(|failure| {
                if failure.crowded {
                    return failure;
                }
                let nth = slots
                    .iter()
                    .position(|&slot| self.array(py, &[slot]).is_err());
                FunctionFailure { nth, ..failure }
            })
        })
    }

    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()> {
        let load = |py: Python<'_>| {
            let array = PyArray::from_array_ref(Arc::clone(values));
            let values = self.from_arrow.bind(py).call1((array.to_pyarrow(py)?,))?;
            values
                .try_iter()?
                .map(|value| value.map(Bound::unbind))
                .collect::<PyResult<Vec<_>>>()
        };
        let loaded = Python::attach(|py| {
            load(py).map_err(|error| self.failure(py, "conversion from its type", error))
        })?;
        slots.iter().zip(loaded).for_each(|(&slot, value)| {
            let from = FoldFunction::Add; // a stored window has had a record added
            self.set(slot, Accumulator { value, from });
        });
        Ok(())
    }
}
