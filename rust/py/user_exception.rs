//! An exception of a user function.

use std::fmt;

use pyo3::prelude::*;

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
