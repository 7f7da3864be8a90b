//! How much of a saved state an operator has.

/// How much of a saved state an operator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatePart {
    /// The whole state.
    Whole,
    /// The pages of the keys of a micro-batch, and those in which something is due. More pages of the
    /// keys in the latter are missing.
    Due,
    /// All pages of the runs that a micro-batch touches.
    Runs,
    /// The same runs after the micro-batch.
    Changed,
    /// Some pages, only for queries.
    Pages,
}
