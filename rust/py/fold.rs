//! Aggregates implemented as Python functions. Each slot has one Python object.

use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use arrow_schema::Field;
use pyo3::prelude::*;

use super::functions::{Accumulator, FoldFunctions};
use crate::core::aggregate::slot::Slot;
use crate::plan::function_failure::{FunctionFailure, Outcome};
use crate::record::user_function::UserFunction;

/// The rows of the current batch, as passed to the functions.
pub(super) type Rows = Arc<Mutex<Vec<Py<PyAny>>>>;

/// The functions of one aggregate, and the accumulator of each slot.
pub(super) struct Fold {
    functions: FoldFunctions,
    rows: Rows,
    accumulators: Vec<Option<Accumulator>>,
}

impl Fold {
    /// Creates a fold from a Python object with the attributes that [`FoldFunctions::new`] lists.
    pub(super) fn new(fold: &Bound<'_, PyAny>, rows: Rows) -> PyResult<(Self, Field)> {
        let (functions, field) = FoldFunctions::new(fold)?;
        let fold = Self {
            functions,
            rows,
            accumulators: Vec::new(),
        };
        Ok((fold, field))
    }

    /// Takes the accumulator out of a slot, or creates a new one if the slot is empty.
    fn take(&mut self, py: Python<'_>, slot: Slot) -> Outcome<Accumulator> {
        match self
            .accumulators
            .get_mut(slot.0 as usize)
            .and_then(Option::take)
        {
            Some(accumulator) => Ok(accumulator),
            None => self.functions.identity(py),
        }
    }

    fn get(&self, slot: Slot) -> Option<&Accumulator> {
        self.accumulators
            .get(slot.0 as usize)
            .and_then(Option::as_ref)
    }

    fn set(&mut self, slot: Slot, accumulator: Option<Accumulator>) {
        if let Some(entry) = self.accumulators.get_mut(slot.0 as usize) {
            *entry = accumulator;
        }
    }
}

impl UserFunction for Fold {
    fn resize(&mut self, slots: usize) {
        if slots > self.accumulators.len() {
            self.accumulators.resize_with(slots, || None);
        }
    }

    fn release(&mut self, slot: Slot) {
        self.set(slot, None);
    }

    fn takes(&self, input: usize) -> bool {
        self.functions.takes(input)
    }

    fn update(&mut self, slot: Slot, row: usize, input: usize) -> Outcome<()> {
        Python::attach(|py| {
            let accumulator = self.take(py, slot)?;
            let row = || {
                let rows = self.rows.lock().ok()?;
                rows.get(row).map(|row| row.clone_ref(py))
            };
            let added = self.functions.add(py, accumulator, input, row)?;
            self.set(slot, Some(added));
            Ok(())
        })
    }

    fn update_all(&mut self, slots: &[Slot], row: usize, input: usize) -> Outcome<()> {
        if !self.takes(input) {
            return Ok(());
        }
        Python::attach(|py| {
            let at = |nth| {
                move |failure| FunctionFailure {
                    nth: Some(nth),
                    ..failure
                }
            };
            let mut accumulators = Vec::with_capacity(slots.len());
            for (nth, &slot) in slots.iter().enumerate() {
                accumulators.push(self.take(py, slot).map_err(at(nth))?);
            }
            let row = {
                let rows = self.rows.lock().ok();
                rows.and_then(|rows| rows.get(row).map(|row| row.clone_ref(py)))
            };
            let added = self.functions.add_each(py, accumulators, input, row)?;
            for (&slot, accumulator) in slots.iter().zip(added) {
                self.set(slot, Some(accumulator));
            }
            Ok(())
        })
    }

    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let (older, younger) = (self.take(py, into)?, self.take(py, from)?);
            let merged = self.functions.merge(py, older, younger)?;
            self.set(into, Some(merged));
            Ok(())
        })
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let copy = self.get(from).map(|from| self.functions.copy(py, from));
            self.set(to, copy.transpose()?);
            Ok(())
        })
    }

    fn renew(&mut self, slot: Slot) -> Outcome<()> {
        Python::attach(|py| {
            let (identity, accumulator) = (self.functions.identity(py)?, self.take(py, slot)?);
            let merged = self.functions.merge(py, identity, accumulator)?;
            self.set(slot, Some(merged));
            Ok(())
        })
    }

    fn is_null(&self, slot: Slot) -> bool {
        Python::attach(|py| {
            self.get(slot)
                .is_none_or(|accumulator| accumulator.value.is_none(py))
        })
    }

    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef> {
        Python::attach(|py| {
            let value = |&slot: &Slot| self.get(slot).map(|accumulator| accumulator.value.bind(py));
            let values: Vec<_> = slots.iter().map(value).collect();
            self.functions.array_of(py, &values)
        })
    }

    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()> {
        let loaded = Python::attach(|py| self.functions.accumulators(py, values))?;
        for (&slot, accumulator) in slots.iter().zip(loaded) {
            self.set(slot, Some(accumulator));
        }
        Ok(())
    }
}
