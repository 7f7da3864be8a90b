//! The crate's errors, with the facts as fields.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error of windrow. The binding maps each variant to one Python exception.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument has a value that is not allowed (`ValueError`).
    #[error("{argument}: got {got}; allowed: {allowed}")]
    Argument {
        /// Name of the argument, as the user wrote it.
        argument: String,
        /// The given value.
        got: String,
        /// What is allowed instead.
        allowed: String,
    },
    /// A column has a type that is not allowed (`TypeError`).
    #[error("{argument}: column {column:?} has type {got}; allowed: {allowed}")]
    ColumnType {
        /// The argument that names the column.
        argument: String,
        /// The column.
        column: String,
        /// Its type.
        got: String,
        /// What is allowed instead.
        allowed: String,
    },
    /// A result cannot be represented in its type (`OverflowError`).
    #[error("column {column:?}: {reason}")]
    Overflow {
        /// The input or result column.
        column: String,
        /// What does not fit, and where.
        reason: String,
    },
    /// The result of a window does not fit its type. A query turns it into [`Error::Overflow`],
    /// which names the column and the window (`OverflowError`).
    #[error("aggregate {aggregate}, window {window}: {reason}")]
    ResultOverflow {
        /// The aggregate's position in its [`Accumulators`].
        ///
        /// [`Accumulators`]: crate::core::aggregate::accumulators::Accumulators
        aggregate: usize,
        /// The window's position among the requested results.
        window: usize,
        /// What does not fit.
        reason: &'static str,
    },
    /// A record's window has a bound outside the representable times. A query turns it into
    /// [`Error::Overflow`], which names the time column (`OverflowError`).
    #[error("the window of the record at {ticks} ticks has a bound beyond the representable times")]
    TimeOverflow {
        /// The time of the record.
        ticks: i64,
    },
    /// The results do not fit one batch (`OverflowError`). With several windows, a smaller batch
    /// may fit.
    #[error("column {column:?}: {reason}")]
    ArrayCapacity {
        /// The result column.
        column: String,
        /// What does not fit.
        reason: String,
    },
    /// A user's function failed (`RuntimeError`, caused by the user's exception).
    #[error("aggregate {aggregate:?}: {function} failed{place}: {cause}")]
    Function {
        /// The result column.
        aggregate: String,
        /// Which function of the aggregate.
        function: String,
        /// The record and the window, if any.
        place: String,
        /// The exception.
        cause: Cause,
    },
    /// The query does not allow a record (`ValueError`).
    #[error("column {column:?}: {reason}")]
    Record {
        /// The input column.
        column: String,
        /// The record's key and time, and what is wrong.
        reason: String,
    },
    /// Packed bytes are unreadable (`ValueError`).
    #[error("{what}: {reason}")]
    Format {
        /// Block, page, metadata, ...
        what: &'static str,
        /// Why it is unreadable.
        reason: String,
    },
    /// A saved state is of another query (`ValueError`).
    #[error("{state}: it is of another query: {saved}, not {own}")]
    OtherQuery {
        /// Which state, as the user knows it.
        state: &'static str,
        /// Its query as JSON: the parts that matter.
        saved: String,
        /// The same parts of the other query.
        own: String,
    },
    /// Memory ran out (`MemoryError`).
    #[error("out of memory: {what}")]
    Memory {
        /// What needed the memory, and how much.
        what: String,
    },
    /// The caller stopped the work (the caller's exception, such as `KeyboardInterrupt`).
    #[error("interrupted: {cause}")]
    Interrupted {
        /// Why.
        cause: Cause,
    },
    /// Another thread of the run failed. The run reports that thread's error.
    #[error("another thread has failed")]
    Stopped,
    /// An Arrow operation failed (`RuntimeError`).
    #[error("Arrow: {0}")]
    Arrow(#[source] Cause),
    /// Two parts of windrow disagree: a bug (`RuntimeError`).
    #[error("internal: {0}; please report this")]
    Internal(&'static str),
}

/// Why a function outside this crate failed.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Result of windrow's operations.
pub type Result<T> = std::result::Result<T, Error>;

/// The error in place of a panic, whose words and place are on the standard error.
pub(crate) const PANICKED: Error = Error::Internal("a panic, see the standard error");

/// Does `work`. A panic in it, which is a fault of windrow or of Arrow, becomes an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(PANICKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let caught = caught(|| -> Result<()> { panic!("planted") });
        let error = caught.unwrap_err().to_string();
        assert_eq!(
            error,
            "internal: a panic, see the standard error; please report this"
        );
    }
}
