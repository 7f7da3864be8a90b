//! Failures of functions of the user, as errors that name aggregate, record and window.

use super::query::Query;
use crate::core::error::{Cause, Error};
use crate::core::time::Time;
use crate::core::window::Window;

/// A function that failed.
pub struct FunctionFailure {
    /// The name of the argument that takes the function. If the function failed on a None that another
    /// one returned, the name of that one comes first.
    pub function: String,
    /// Why.
    pub cause: Cause,
    /// The position among several slots or windows.
    pub nth: Option<usize>,
    /// Whether the values of fewer slots may fit, because all of them do not fit one array.
    pub exceeds_capacity: bool,
}

/// Result of a function of the user.
pub(crate) type Outcome<T> = Result<T, FunctionFailure>;

impl Query {
    /// The error of the `nth` function of the user, with its record and its window if there are any.
    pub fn failed(
        &self,
        nth: usize,
        failure: FunctionFailure,
        record: Option<Time>,
        window: Option<&Window>,
    ) -> Error {
        let mut functions = self
            .aggregates
            .iter()
            .filter(|planned| planned.is_function());
        let aggregate = functions
            .nth(nth)
            .map(|planned| planned.name.clone())
            .unwrap_or_default();
        if failure.exceeds_capacity {
            return Error::ArrayCapacity {
                column: aggregate,
                reason: failure.cause.to_string(),
            };
        }
        let record = record
            .map(|time| format!(" for the record at {},", self.show(time)))
            .unwrap_or_default();
        let window = window
            .map(|window| format!(" in the window {}", self.show_window(window)))
            .unwrap_or_default();
        Error::Function {
            aggregate,
            function: failure.function,
            place: record + &window,
            cause: failure.cause,
        }
    }
}
