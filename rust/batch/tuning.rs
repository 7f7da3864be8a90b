//! Decides when a session query groups its waiting rows, and whether it groups them at all before a
//! shuffle. This affects only speed, never results.
//!
//! The benchmark `sessions` measures the effect. Its ids end with the order of the input.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::pending::NumberedRows;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::session::batch::OpenSessions;
use crate::core::session::session_windows::Gap;
use crate::core::sort::pick;
use crate::core::window::Extent;
use crate::input::records::Records;
use crate::plan::aggregate::AggregatePlan;
use crate::plan::query::Query;

/// Rows in time order are grouped when this many wait. They still fit a core's caches.
const ORDERLY_ROWS: usize = 1 << 14;

/// One key in this many is sampled, with all its rows. That is enough for a good estimate and costs
/// little.
const SAMPLED_KEYS: u32 = 16;

/// With fewer keys than this, all rows are examined.
const FEW_KEYS: usize = 1 << 10;

/// Whether to group the waiting rows now. Ordered rows are grouped once there are [`ORDERLY_ROWS`].
/// Shuffled rows must be sorted first, so they wait until there are `most`.
pub(super) fn is_due(
    rows: &NumberedRows,
    sessions: &mut OpenSessions,
    gap: Gap,
    most: usize,
) -> bool {
    if rows.rows() < most.min(ORDERLY_ROWS) {
        return false;
    }
    let disorder = sessions.disorder();
    if disorder.is_unknown() {
        disorder.look_ahead(rows.extents(gap));
    }
    !disorder.is_shuffled() || rows.rows() >= most
}

/// Whether the rows take less space in blocks as records than as partial sessions, counted in
/// columns. This is so if they are so scattered that grouping joins only a few, and if a partial
/// session has a value of each record. If there are few keys, this looks at all rows. Otherwise it
/// looks at all rows of frequent keys and samples every [`SAMPLED_KEYS`]-th of the other keys.
pub(super) fn are_scattered(
    rows: &NumberedRows,
    query: &Query,
    gap: Gap,
    interrupt: &Interrupt,
) -> Result<bool> {
    let keys = rows.keys();
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
    if have_many_keys(keys.len(), distinct, query, gap) {
        return Ok(true);
    }
    let records = (keys.len() * record_columns(query)) as f64;
    let columns = session_columns(query, gap) as f64;
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
    let (own, times) = (
        pick(&keys, &sampled)?,
        pick(&rows.column(Records::times), &sampled)?,
    );
    let mut sessions = OpenSessions::default();
    match gap {
        Gap::Fixed(gap) if query.columns.end.is_none() => {
            sessions.assign(&own, &times, gap, interrupt)?
        }
        _ => {
            let extents: Vec<Extent> = rows.extents(gap).map(|(_, own)| own).collect();
            sessions.assign_partials(&own, &pick(&extents, &sampled)?)?
        }
    };
    let sessions = sessions.coalesce(interrupt)?.keys;
    let certain = |keys: &[KeyId]| keys.iter().filter(|key| is_certain(key)).count();
    let (certain_rows, certain_sessions) = (certain(&own), certain(&sessions));
    let others = (keys.len() - certain(&keys)) as f64 / (own.len() - certain_rows).max(1) as f64;
    let others = others * (sessions.len() - certain_sessions) as f64;
    Ok(columns * (certain_sessions as f64 + others) > records)
}

/// Whether rows take less space in blocks as records, even if each of their keys has only one
/// session.
pub(super) fn have_many_keys(rows: usize, keys: usize, query: &Query, gap: Gap) -> bool {
    keys.saturating_mul(session_columns(query, gap)) > rows.saturating_mul(record_columns(query))
}

/// How many columns a record has in blocks.
fn record_columns(query: &Query) -> usize {
    let gap = usize::from(query.has_own_gaps()) + usize::from(query.columns.end.is_some());
    let seq_no = usize::from(query.needs_seq_no);
    let mark = usize::from(query.columns.rules.have_marks());
    query.keys.len() + 1 + gap + mark + seq_no + query.inputs.len()
}

/// How many columns a partial session has in blocks. If a state can hold many values or bytes, the
/// result is at least twice the columns of a record, and if it may have a value of each of some rows,
/// at least their columns.
fn session_columns(query: &Query, gap: Gap) -> usize {
    let reach = usize::from(matches!(gap, Gap::Dynamic { .. }));
    let states = query.accumulators().save(&[]);
    let columns = query.keys.len() + 2 + reach + states.len();
    let is_long = |state: &ArrayRef| {
        matches!(
            state.data_type(),
            DataType::LargeList(_) | DataType::LargeBinary
        )
    };
    let many = if states.iter().any(is_long) { 2 } else { 0 };
    let kept = query.aggregates.iter().map(AggregatePlan::kept_rows);
    let rows = kept.fold(many, usize::max);
    columns.max(rows.saturating_mul(record_columns(query)))
}
