//! What can go wrong, with the facts as fields.

/// An error of windrow. The binding maps each variant to one Python exception.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument has a value that is not allowed (`ValueError`).
    #[error("{argument}: got {got}; allowed: {allowed}")]
    Argument {
        /// Name of the argument, as the user wrote it.
        argument: String,
        /// The value that was given.
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
    /// A result has no representation in its type (`OverflowError`).
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
        /// The aggregate, by its position among those of its [`Accumulators`].
        ///
        /// [`Accumulators`]: crate::core::aggregate::accumulators::Accumulators
        aggregate: usize,
        /// The window, by its position among those whose results were asked for.
        window: usize,
        /// What does not fit.
        reason: &'static str,
    },
    /// A window of a record has a bound beyond the representable times. A query turns it into
    /// [`Error::Overflow`], which names the time column (`OverflowError`).
    #[error("the window of the record at {ticks} ticks has a bound beyond the representable times")]
    TimeOverflow {
        /// The time of the record.
        ticks: i64,
    },
    /// Results of several windows do not fit one batch, and those of fewer may; or one window's do
    /// not (`OverflowError`).
    #[error("column {column:?}: {reason}")]
    Crowded {
        /// The result column.
        column: String,
        /// What does not fit.
        reason: String,
    },
    /// A function of the user failed (`RuntimeError`, caused by what it raised).
    #[error("aggregate {aggregate:?}: {function} failed{place}: {cause}")]
    Function {
        /// The result column.
        aggregate: String,
        /// Which of its functions.
        function: String,
        /// The record and the window, where there are any.
        place: String,
        /// What it raised.
        cause: Cause,
    },
    /// A record that the query does not allow (`ValueError`).
    #[error("column {column:?}: {reason}")]
    Record {
        /// The input column.
        column: String,
        /// Its key, its time, and what is wrong.
        reason: String,
    },
    /// Packed bytes that cannot be read (`ValueError`).
    #[error("{what}: {reason}")]
    Format {
        /// Block, page, metadata, ...
        what: &'static str,
        /// Why it cannot be read.
        reason: String,
    },
    /// There is no memory for what is asked for (`MemoryError`).
    #[error("out of memory: {what}")]
    Memory {
        /// What was to be held, and its size.
        what: String,
    },
    /// The caller stopped the work (the exception that it raised, such as `KeyboardInterrupt`).
    #[error("interrupted: {cause}")]
    Interrupted {
        /// Why.
        cause: Cause,
    },
    /// Another thread of a run has failed; its error is that of the run.
    #[error("another thread has failed")]
    Stopped,
    /// An Arrow operation failed (`RuntimeError`).
    #[error("Arrow: {0}")]
    Arrow(#[source] Cause),
    /// Two parts of windrow disagree: a bug (`RuntimeError`).
    #[error("internal: {0}; please report this")]
    Internal(&'static str),
}

/// Why a function that is not of this crate failed.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Result of windrow's operations.
pub type Result<T> = std::result::Result<T, Error>;
