//! Errors as exceptions, and an exception of a user function.

use std::fmt;

use pyo3::exceptions::{
    PyException, PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::core::error::Error;

/// An exception of a Python function.
#[derive(Debug)]
pub(super) struct UserException {
    pub(super) error: PyErr,
    /// The location in the user's code: file, line, function and source.
    pub(super) user_frame: Option<String>,
}

impl fmt::Display for UserException {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user_frame {
            Some(frame) => write!(out, "{} ({frame})", self.error),
            None => self.error.fmt(out),
        }
    }
}

impl std::error::Error for UserException {}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Argument { .. } | Error::Format { .. } | Error::Record { .. } => {
                PyValueError::new_err(message)
            }
            Error::ColumnType { .. } => PyTypeError::new_err(message),
            Error::Overflow { .. }
            | Error::ResultOverflow { .. }
            | Error::TimeOverflow { .. }
            | Error::ArrayCapacity { .. } => PyOverflowError::new_err(message),
            Error::OtherQuery { state, saved, own } => Python::attach(|py| {
                let words = py.import("windrow._arguments.other_query");
                let words = words.and_then(|words| words.getattr("other_query"));
                let error = words.and_then(|words| words.call1((state, saved, own)));
                error.map_or_else(|failed| failed, PyErr::from_value)
            }),
            Error::Function { cause, .. } => match cause.downcast::<UserException>() {
                Ok(raised) => Python::attach(|py| function_error(py, message, raised.error)),
                Err(_) => PyRuntimeError::new_err(message),
            },
            Error::Interrupted { cause } => match cause.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(_) => PyRuntimeError::new_err(message),
            },
            Error::Memory { .. } => PyMemoryError::new_err(message),
            Error::Arrow(_) | Error::Internal(_) | Error::Stopped => {
                PyRuntimeError::new_err(message)
            }
        }
    }
}

/// Wraps an exception of a user function in an error with its location. Returns interrupts and
/// exits unchanged.
fn function_error(py: Python<'_>, message: String, cause: PyErr) -> PyErr {
    if !cause.is_instance_of::<PyException>(py) {
        return cause;
    }
    let raised = PyRuntimeError::new_err(message);
    raised.set_cause(py, Some(cause));
    raised
}
