//! Decides what a record does to the sessions it joins. Nothing here has an effect.

use crate::core::time::{Span, Time};
use crate::core::window::Extent;

/// What happens to a record and the sessions it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Merged together, they are behind the close time by this much. Nothing changes.
    Late(Span),
    /// They become this session.
    Keep(Extent),
}

/// Decides for a record that joins `found`.
///
/// ```text
///   found   ├──x──┤····    ├─x─┤····
///   record            t├····┤
///   keeps   ├──x──────x─────x─┤····      late if its reach is strictly before `close`
/// ```
pub(crate) fn choose(
    record: Extent,
    found: impl IntoIterator<Item = Extent>,
    close: Time,
) -> Choice {
    let extent = found
        .into_iter()
        .fold(record, |merged, session| merged.union(&session));
    if extent.is_late(close) {
        return Choice::Late(close.since(extent.reach));
    }
    Choice::Keep(extent)
}
