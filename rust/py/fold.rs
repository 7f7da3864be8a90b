//! Aggregates of Python functions: one Python object per slot.

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};
use pyo3_arrow::{PyArray, PyField};

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
    deepcopy: Py<PyAny>,
    rows: Rows,
    accumulators: Vec<Option<Py<PyAny>>>,
}

/// An error of a Python function.
fn failure(function: &'static str) -> impl Fn(PyErr) -> FunctionFailure {
    move |raised| FunctionFailure {
        function,
        cause: Box::new(raised),
        nth: None,
        crowded: false,
    }
}

impl Fold {
    /// Of a Python object with `type`, `init`, `adds`, `merge`, `reduces`, `to_arrow` and
    /// `from_arrow`.
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

    /// Takes the accumulator out of a slot; a new one where it has none.
    fn take(&mut self, py: Python<'_>, slot: Slot) -> Outcome<Py<PyAny>> {
        match self
            .accumulators
            .get_mut(slot.0 as usize)
            .and_then(Option::take)
        {
            Some(value) => Ok(value),
            None => self.init.call0(py).map_err(failure("init")),
        }
    }

    fn merged(&self, py: Python<'_>, older: Py<PyAny>, later: Py<PyAny>) -> Outcome<Py<PyAny>> {
        self.merge
            .call1(py, (older, later))
            .map_err(failure(if self.reduces { "fn" } else { "merge" }))
    }

    /// The values of slots as an array; an error for one that would not come back from it as it is,
    /// and for more than fit one array.
    fn array(&self, py: Python<'_>, slots: &[Slot]) -> Outcome<ArrayRef> {
        let to_type = failure("conversion to its type");
        let crowded = |cause: &str| FunctionFailure {
            function: "conversion to its type",
            cause: cause.into(),
            nth: None,
            crowded: true,
        };
        let values = slots.iter().map(|&slot| self.get(py, slot));
        let values = PyList::new(py, values).map_err(&to_type)?;
        match self.to_arrow.bind(py).call1((values,)) {
            // pyarrow cuts strings and binaries into chunks.
            Ok(array) if array.hasattr("chunks").map_err(&to_type)? => {
                Err(crowded("the values do not fit one array"))
            }
            Ok(array) => Ok(array.extract::<PyArray>().map_err(&to_type)?.into_inner().0),
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
            .map(|value| value.bind(py))
    }

    fn set(&mut self, slot: Slot, value: Py<PyAny>) {
        if let Some(entry) = self.accumulators.get_mut(slot.0 as usize) {
            *entry = Some(value);
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
            let function = if self.reduces { "fn" } else { "add" };
            let missing = |what: String| FunctionFailure {
                function,
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
                    add.call1(py, (accumulator, row))
                        .map_err(failure(function))?
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
            let copy = match self.get(py, from) {
                Some(value) if is_immutable(value) => Some(value.clone().unbind()),
                Some(value) => Some(
                    self.deepcopy
                        .call1(py, (value,))
                        .map_err(failure("copy of an accumulator"))?,
                ),
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
            let (identity, accumulator) = (
                self.init.call0(py).map_err(failure("init"))?,
                self.take(py, slot)?,
            );
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
        let loaded = Python::attach(load).map_err(failure("conversion from its type"))?;
        slots
            .iter()
            .zip(loaded)
            .for_each(|(&slot, value)| self.set(slot, value));
        Ok(())
    }
}
