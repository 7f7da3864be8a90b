//! Decides what a record does to the sessions it joins. Nothing here has an effect.

use crate::time::Time;
use crate::window::Extent;

/// What a record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It comes too late, with all that it joins. Nothing changes.
    Late,
    /// It makes one session of itself and all that it joins.
    Keep {
        /// The session.
        extent: Extent,
        /// Whether the joined sessions are deleted by name first. Not so where the session is the
        /// record's own instant again: then it is overwritten (rules 9.2).
        deletes: bool,
    },
}

/// The choice for a record that joins `found`.
///
/// ```text
///   found   ├──x──┤····    ├─x─┤····
///   record            t├····┤
///   keeps   ├──x──────x─────x─┤····      late when its reach is before `close`, strictly
/// ```
pub fn choose(record: Extent, found: impl IntoIterator<Item = Extent>, close: Time) -> Choice {
    let extent = found
        .into_iter()
        .fold(record, |merged, session| merged.union(&session));
    if extent.is_late(close) {
        return Choice::Late;
    }
    Choice::Keep {
        extent,
        deletes: extent.window() != record.window(),
    }
}
