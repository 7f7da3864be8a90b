//! Queries of an operator's store, as Arrow batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use super::change_batch;
use super::state_store::{StateStore, key_columns};
use super::windows::Windows;
use crate::array::halves::in_halves;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::store::{SessionEntry, SessionStore, WindowEntry, WindowStore};
use crate::core::time::{Span, Time};
use crate::core::window::Window;
use crate::plan::query::Query;

/// The windows to select. Time bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreQuery {
    /// For a range of keys: sessions that end at `from` or later and start at `to` or earlier, and
    /// sliding windows that start from `from` to `to`.
    Between {
        /// Earliest end of a session, earliest start of a sliding window.
        from: Time,
        /// Latest start.
        to: Time,
    },
    /// For a range of keys: windows with exactly these bounds.
    Exact {
        /// Start.
        start: Time,
        /// End.
        end: Time,
    },
    /// For all keys, sorted by time before key: sessions by reach, and sliding windows by start, in
    /// a range of times.
    Due {
        /// Earliest.
        from: Time,
        /// Latest.
        to: Time,
    },
}

/// Inclusive bounds of a range of keys. Each bound is one row of key columns. `None` leaves a side
/// open.
pub(crate) type KeyRange = (Option<Vec<ArrayRef>>, Option<Vec<ArrayRef>>);

/// A selected window.
struct SelectedWindow<'a> {
    name: &'a [u8],
    window: Window,
    largest: Time,
    slot: Slot,
}

/// The schema of selected windows: keys, `window`, aggregates, and `time`, the largest time of the
/// records in a window.
fn found_schema(query: &Query) -> SchemaRef {
    let changes = change_batch::schema(query);
    let shown = query.keys.len() + 1 + query.aggregates.len();
    let fields = changes.fields();
    Arc::new(Schema::new(
        fields
            .iter()
            .take(shown)
            .chain(fields.last())
            .cloned()
            .collect::<Vec<_>>(),
    ))
}

/// The visible windows of a query, in the order of rules 6.9 or its reverse. Returns several
/// batches if they do not fit one.
pub(crate) fn select(
    state: &StateStore,
    query: StoreQuery,
    keys: &KeyRange,
    backward: bool,
) -> Result<Vec<RecordBatch>> {
    let bound = |columns: &Option<Vec<ArrayRef>>| {
        columns
            .as_ref()
            .map(|columns| state.sort_keys.of(columns))
            .transpose()
    };
    let (first, last) = (bound(&keys.0)?, bound(&keys.1)?);
    let keys = (
        first.as_ref().and_then(|rows| rows.get(0)),
        last.as_ref().and_then(|rows| rows.get(0)),
    );
    let mut found = match &state.windows {
        Windows::Sessions(sessions) => find_sessions(sessions.store(), query, keys),
        Windows::Sliding(sliding) => {
            let difference = sliding.kind.sliding.difference;
            find_windows(sliding.store(), difference, query, keys)
        }
        Windows::Cut(_) => {
            return Err(Error::Argument {
                argument: "query".into(),
                got: "sessions that rules end".into(),
                allowed: "other windows: for sessions with rules, a state holds only the last session of \
                          each key, and records that belong to no session yet"
                    .into(),
            });
        }
    };
    if backward {
        found.reverse();
    }
    if !state.saturates {
        change_batch::check(&state.query, found.iter().map(|found| found.window))?;
    }
    in_halves(0..found.len(), &mut |rows| {
        batch(state, found.get(rows).unwrap_or_default())
    })
}

/// The sort keys of the first and the last key of a range.
type Names<'n> = (Option<&'n [u8]>, Option<&'n [u8]>);

fn find_sessions<'s>(
    store: &'s SessionStore,
    query: StoreQuery,
    keys: Names<'_>,
) -> Vec<SelectedWindow<'s>> {
    let found = |(name, session): (&'s [u8], &SessionEntry)| SelectedWindow {
        name,
        window: session.window(),
        largest: session.extent.end,
        slot: session.slot,
    };
    match query {
        StoreQuery::Between { from, to } => store
            .find_sessions(keys.0, keys.1, from, to)
            .map(found)
            .collect(),
        StoreQuery::Exact { start, end } => store
            .fetch_sessions(keys.0, keys.1, start, end)
            .map(found)
            .collect(),
        StoreQuery::Due { from, to } => store.find_closed(from, to).map(found).collect(),
    }
}

fn find_windows<'s>(
    store: &'s WindowStore,
    difference: Span,
    query: StoreQuery,
    keys: Names<'_>,
) -> Vec<SelectedWindow<'s>> {
    let found = |(name, window): (&'s [u8], &WindowEntry)| SelectedWindow {
        name,
        window: Window::sliding(window.start, difference),
        largest: window.largest,
        slot: window.slot,
    };
    match query {
        StoreQuery::Between { from, to } => store.fetch_range(keys, from, to).map(found).collect(),
        StoreQuery::Exact { start, end } => {
            let windows = store.fetch_range(keys, start, start).map(found);
            windows.filter(|found| found.window.end == end).collect()
        }
        StoreQuery::Due { from, to } => store.find_closed(from, to).map(found).collect(),
    }
}

fn batch(state: &StateStore, found: &[SelectedWindow<'_>]) -> Result<RecordBatch> {
    let windows: Vec<Window> = found.iter().map(|found| found.window).collect();
    let slots: Vec<Slot> = found.iter().map(|found| found.slot).collect();
    let mut columns = key_columns(&state.sort_keys, found.iter().map(|found| found.name))?;
    let results = state.show(&columns, &slots, &windows, &[])?;
    columns.push(state.query.window(&windows)?);
    columns.extend(results);
    columns.push(state.query.times(found.iter().map(|found| found.largest))?);
    Ok(RecordBatch::try_new(found_schema(&state.query), columns)?)
}
