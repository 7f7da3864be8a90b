//! How much of a saved state an operator has.

/// How much of a saved state an operator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatePart {
    /// All of it.
    Whole,
    /// All pages of some runs: what a micro-batch touches.
    Runs,
    /// The same after this micro-batch.
    Changed,
    /// Some pages, to be looked at.
    Pages,
}
