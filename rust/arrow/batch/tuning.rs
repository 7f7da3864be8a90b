//! When the waiting rows of a session query are grouped, and whether at all before a shuffle:
//! choices of speed, on which no answer depends.
//!
//! What they bring is seen in the benchmark `sessions`, whose ids end with the order of the input.

use super::pending::NumberedRows;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::session::batch::OpenSessions;
use crate::session::windows::Gap;
use crate::sort::pick;

/// Waiting rows that are grouped at once where rows come in order: few enough to stay in a core's
/// caches until then.
const ORDERLY_ROWS: usize = 1 << 14;

/// One key in so many is sampled, with all its rows: enough to judge by, and a small part of the
/// work that the judgement may save.
const SAMPLED_KEYS: u32 = 16;

/// Whether waiting rows are grouped now: in order, as soon as they are [`ORDERLY_ROWS`]; shuffled
/// ones, which are sorted first, only when they are `most`.
pub(super) fn is_due(
    rows: &NumberedRows,
    sessions: &mut OpenSessions,
    gap: Gap,
    most: usize,
) -> bool {
    if rows.rows() < most.min(ORDERLY_ROWS) {
        return false;
    }
    let is_first = sessions.is_empty();
    let disorder = sessions.disorder();
    if is_first && !disorder.is_shuffled() {
        disorder.look_ahead(rows.extents(gap));
    }
    !disorder.is_shuffled() || rows.rows() >= most
}

/// Whether rows are so scattered that grouping them joins few: as records they are then lighter
/// than as partial sessions. Judged by the keys of every [`SAMPLED_KEYS`]-th number.
///
/// # Errors
///
/// Those of the interrupt.
pub(super) fn are_scattered(rows: &NumberedRows, gap: Gap, interrupt: &Interrupt) -> Result<bool> {
    let keys = rows.keys();
    let is_sampled = |key: &KeyId| key.0.is_multiple_of(SAMPLED_KEYS);
    let sampled: Vec<u32> = (0..)
        .zip(&keys)
        .filter(|(_, key)| is_sampled(key))
        .map(|(row, _)| row)
        .collect();
    let (keys, times) = (pick(&keys, &sampled), pick(&rows.times(), &sampled));
    let mut sessions = OpenSessions::default();
    match gap {
        Gap::Fixed(gap) => sessions.assign(&keys, &times, gap, interrupt)?,
        Gap::Dynamic { .. } => {
            let gaps = pick(&rows.gaps(), &sampled);
            sessions.assign_own(&keys, &times, &gaps, interrupt)?
        }
    };
    Ok(2 * sessions.coalesce(interrupt)?.keys.len() > sampled.len())
}
