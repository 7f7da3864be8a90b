//! The choice for a record and the sessions that it joins, without an effect.

use super::session_windows::Cut;
use crate::core::time::Time;
use crate::core::window::Extent;

/// What happens to a record and the sessions it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All of them together are behind the close time. Nothing changes.
    Late,
    /// All of them become one session.
    Keep {
        /// The session.
        extent: Extent,
        /// Whether deletes of the joined sessions are emitted. Not where the session is the record's
        /// own instant again: it is overwritten (rules 9.2).
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
///
/// Where sessions are cut, the record comes after those of the one session that it joins.
pub fn choose(
    record: Extent,
    found: impl IntoIterator<Item = Extent>,
    close: Time,
    cut: Option<Cut>,
) -> Choice {
    let alone = cut.map_or(record, |cut| cut.begin(record));
    let extent = found.into_iter().fold(alone, |merged, session| match cut {
        Some(cut) => cut.extend(session, merged),
        None => merged.union(&session),
    });
    if extent.is_late(close) {
        return Choice::Late;
    }
    Choice::Keep {
        extent,
        deletes: extent.window() != record.window(),
    }
}
