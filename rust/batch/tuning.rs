//! When the waiting rows of a session query are grouped, and whether at all before a shuffle:
//! choices of speed, on which no answer depends.
//!
//! What they bring is seen in the benchmark `sessions`, whose ids end with the order of the input.

use super::pending::NumberedRows;
use crate::core::aggregate::column::{Column, Values};
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::session::batch::OpenSessions;
use crate::core::session::session_windows::Gap;
use crate::core::sort::pick;
use crate::plan::query::Query;

/// Waiting rows that are grouped at once where rows come in order: few enough to stay in a core's
/// caches until then.
const ORDERLY_ROWS: usize = 1 << 14;

/// One key in so many is sampled, with all its rows: enough to judge by, and a small part of the
/// work that the judgement may save.
const SAMPLED_KEYS: u32 = 16;

/// Of fewer keys all rows are looked at.
const FEW_KEYS: usize = 1 << 10;

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
/// than as partial sessions, by the columns that each has in blocks. Judged by all rows of few keys
/// and of keys with many rows, and by the keys of every [`SAMPLED_KEYS`]-th number among the others.
///
/// # Errors
///
/// Those of the interrupt.
pub(super) fn are_scattered(
    rows: &NumberedRows,
    query: &Query,
    gap: Gap,
    interrupt: &Interrupt,
) -> Result<bool> {
    let keys = rows.keys();
    let records = (keys.len() * record_columns(query)) as f64;
    let columns = session_columns(query, gap) as f64;
    let mut counts = Vec::new();
    for key in &keys {
        let key = key.0 as usize;
        if key >= counts.len() {
            counts.resize(key + 1, 0_usize);
        }
        if let Some(count) = counts.get_mut(key) {
            *count += 1;
        }
    }
    let distinct = counts.iter().filter(|count| **count > 0).count();
    if columns * distinct as f64 > records {
        return Ok(true);
    }
    let mean = keys.len() / distinct.max(1);
    let is_certain = |key: &KeyId| {
        let count = counts.get(key.0 as usize).copied().unwrap_or_default();
        distinct < FEW_KEYS || count > SAMPLED_KEYS as usize * mean
    };
    let is_sampled = |key: &KeyId| is_certain(key) || key.0.is_multiple_of(SAMPLED_KEYS);
    let sampled: Vec<u32> = (0..)
        .zip(&keys)
        .filter(|(_, key)| is_sampled(key))
        .map(|(row, _)| row)
        .collect();
    let (own, times) = (pick(&keys, &sampled)?, pick(&rows.times(), &sampled)?);
    let mut sessions = OpenSessions::default();
    match gap {
        Gap::Fixed(gap) => sessions.assign(&own, &times, gap, interrupt)?,
        Gap::Dynamic { .. } => {
            let gaps = pick(&rows.gaps(), &sampled)?;
            sessions.assign_own(&own, &times, &gaps, interrupt)?
        }
    };
    let sessions = sessions.coalesce(interrupt)?.keys;
    let certain = |keys: &[KeyId]| keys.iter().filter(|key| is_certain(key)).count();
    let (certain_rows, certain_sessions) = (certain(&own), certain(&sessions));
    let others = (keys.len() - certain(&keys)) as f64 / (own.len() - certain_rows).max(1) as f64;
    let others = others * (sessions.len() - certain_sessions) as f64;
    Ok(columns * (certain_sessions as f64 + others) > records)
}

/// Columns of a record in blocks.
fn record_columns(query: &Query) -> usize {
    let gap = usize::from(query.has_own_gaps());
    let seq_no = usize::from(query.needs_seq_no);
    query.keys.len() + 1 + gap + seq_no + query.inputs.len()
}

/// Columns of a partial session in blocks; twice those of a record, or more, where a state may hold
/// many values or bytes.
fn session_columns(query: &Query, gap: Gap) -> usize {
    let reach = usize::from(matches!(gap, Gap::Dynamic { .. }));
    let states = query.accumulators().save(&[]);
    let columns = query.keys.len() + 2 + reach + states.len();
    let is_long =
        |state: &Column<'_>| matches!(state.values, Values::List { .. } | Values::Bytes(_));
    if states.iter().any(is_long) {
        columns.max(2 * record_columns(query))
    } else {
        columns
    }
}
