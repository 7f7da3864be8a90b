//! The windows of a segment as pages, and back.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::changes::Changes;
use super::state_store::{StateStore, key_columns};
use super::states::save;
use super::windows::Windows;
use crate::aggregate::slot::Slot;
use crate::arrow::array::convert;
use crate::arrow::array::halves::in_halves;
use crate::arrow::format::page::{self, Label, Page, PageBounds, PageId, broken};
use crate::arrow::format::page_writer::{self, PageColumns, RunRows};
use crate::arrow::format::window_row::WindowRow;
use crate::arrow::keys::sort_key::SortKeyRows;
use crate::error::Result;
use crate::session::bulk::PendingUpdates;
use crate::store::{SegmentId, SessionEntry, StoreKey, WindowEntry, WindowTable};
use crate::window::Window;

/// The run that the operator writes.
const RUN: u32 = 0;

/// The pages of a segment; none where it has no visible window.
///
/// # Errors
///
/// [`crate::error::Error::Function`] for an accumulator that does not fit its type,
/// [`crate::error::Error::Crowded`] where one alone does not fit an array.
pub(crate) fn write(state: &StateStore, fingerprint: &str, id: SegmentId) -> Result<Vec<Page>> {
    match &state.windows {
        Windows::Sessions(sessions) => write_entries(state, sessions.store(), fingerprint, id),
        Windows::Sliding(sliding) => write_entries(state, sliding.store(), fingerprint, id),
    }
}

fn write_entries<E: WindowRow>(
    state: &StateStore,
    store: &WindowTable<E>,
    fingerprint: &str,
    id: SegmentId,
) -> Result<Vec<Page>> {
    let entries = store.segment(id);
    let bounds = |rows: Range<usize>| {
        let rows = entries.get(rows)?;
        let times = rows.iter().map(|(_, entry)| entry.bounds());
        let times =
            times.reduce(|(first, last), (start, reach)| (first.min(start), last.max(reach)))?;
        let (first, last) = (store.name(rows.first()?.0), store.name(rows.last()?.0));
        Some(PageBounds {
            keys: (first.to_vec(), last.to_vec()),
            times,
        })
    };
    let mut pages = Vec::new();
    if entries.is_empty() {
        return Ok(pages);
    }
    let mut parts = Vec::new();
    in_halves(
        0..entries.len(),
        &mut |rows| {
            let part = entries.get(rows.clone()).unwrap_or_default();
            Ok((rows, columns(state, store, part)?))
        },
        &mut |part| parts.push(part),
    )?;
    for (rows, columns) in parts {
        let first = PageId {
            segment: id.0,
            run: RUN,
            number: pages.len() as u32,
        };
        let bounds = |part: Range<usize>| bounds(rows.start + part.start..rows.start + part.end);
        let part = RunRows::new(columns, state.query.limits.page_bytes)?;
        pages.extend(part.write(0..rows.len(), E::FORM, fingerprint, first, bounds)?);
    }
    Ok(pages)
}

/// One row for each window: key columns, times, `source`, states, values of functions.
fn columns<E: WindowRow>(
    state: &StateStore,
    store: &WindowTable<E>,
    entries: &[(StoreKey, &E)],
) -> Result<PageColumns> {
    let slots: Vec<Slot> = entries.iter().map(|(_, entry)| entry.slot()).collect();
    let keys = key_columns(
        &state.sort_keys,
        entries.iter().map(|&(key, _)| store.name(key)),
    )?;
    let names = state
        .sort_keys
        .fields()
        .into_iter()
        .map(|field| field.name().clone());
    let times = E::COLUMNS.iter().enumerate().map(|(nth, &name)| {
        let ticks = entries.iter().map(|(_, entry)| entry.time(nth));
        let ticks: ArrayRef = Arc::new(Int64Array::from_iter_values(ticks));
        (name, ticks)
    });
    let states = state.accumulators.save(&slots);
    let mut columns = page_writer::window_columns(names.zip(keys), times, entries.len(), states)?;
    let difference = state.difference();
    let windows: Vec<Window> = entries
        .iter()
        .map(|(_, entry)| entry.window(difference))
        .collect();
    for (nth, function) in state.functions.iter().enumerate() {
        let values = save(&state.query, nth, function.as_ref(), &slots, &windows)?;
        columns.push((format!("function {nth}"), values));
    }
    Ok(columns)
}

/// The columns of a page.
struct WindowColumns<'a> {
    names: SortKeyRows,
    /// The columns of times.
    times: Vec<&'a [i64]>,
    states: &'a [ArrayRef],
    /// Those of functions.
    values: &'a [ArrayRef],
}

impl WindowColumns<'_> {
    /// The sort key of a row; its times are put into `times`.
    fn get(&self, row: usize, times: &mut Vec<i64>) -> Result<&[u8]> {
        times.clear();
        let columns = self.times.iter();
        times.extend(columns.filter_map(|column| column.get(row)));
        let name = self.names.get(row);
        name.ok_or_else(|| broken("a window has no key"))
    }
}

fn window_columns<'a>(
    state: &StateStore,
    label: &Label,
    rows: &'a RecordBatch,
) -> Result<WindowColumns<'a>> {
    let wrong = || {
        let schema = rows.schema();
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        broken(format!("unexpected columns {names:?}"))
    };
    let (form, time_columns) = match &state.windows {
        Windows::Sessions(_) => (SessionEntry::FORM, SessionEntry::COLUMNS.len()),
        Windows::Sliding(_) => (WindowEntry::FORM, WindowEntry::COLUMNS.len()),
    };
    if label.form != form {
        return Err(broken("it holds windows of another kind"));
    }
    let (keys, rest) = rows
        .columns()
        .split_at_checked(state.query.keys.len())
        .ok_or_else(wrong)?;
    let (times, rest) = rest.split_at_checked(time_columns).ok_or_else(wrong)?;
    let (_sources, rest) = rest.split_first().ok_or_else(wrong)?;
    let width = rest
        .len()
        .checked_sub(state.functions.len())
        .ok_or_else(wrong)?;
    let (states, values) = rest.split_at_checked(width).ok_or_else(wrong)?;
    Ok(WindowColumns {
        names: state.sort_keys.of(keys)?,
        times: times.iter().map(page::ticks).collect::<Result<_>>()?,
        states,
        values,
    })
}

/// Puts the windows of a page into a state.
///
/// # Errors
///
/// [`crate::error::Error::Format`] for columns that the state does not have, and windows that cannot be.
pub(crate) fn read(state: &mut StateStore, label: &Label, rows: &RecordBatch) -> Result<()> {
    let columns = window_columns(state, label, rows)?;
    let slots = load(state, rows.num_rows(), columns.states, columns.values)?;
    let mut times = Vec::new();
    for (row, &slot) in slots.iter().enumerate() {
        let name = columns.get(row, &mut times)?;
        match &mut state.windows {
            Windows::Sessions(sessions) => put(sessions.store_mut(), name, &times, slot)?,
            Windows::Sliding(sliding) => put(sliding.store_mut(), name, &times, slot)?,
        }
    }
    Ok(())
}

/// Joins the sessions of a page with those of a state: they may be parts of sessions.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn join(state: &mut StateStore, label: &Label, rows: &RecordBatch) -> Result<()> {
    let columns = window_columns(state, label, rows)?;
    let states = columns.states.iter().map(convert::view);
    let saved = state
        .query
        .accumulators()
        .load(&states.collect::<Result<Vec<_>>>()?)
        .map_err(|error| broken(error.to_string()))?;
    let (windows, mut states) = state.at_rest();
    let Windows::Sessions(sessions) = windows else {
        return Err(broken("it holds parts of windows that are no sessions"));
    };
    let mut changes = Changes::new(false);
    let mut times = Vec::new();
    for row in 0..rows.num_rows() {
        let name = columns.get(row, &mut times)?;
        let from = Slot(row as u32);
        let entry: SessionEntry = entry(&times, from)?;
        let key = sessions.store_mut().intern(name)?;
        let mut updates = PendingUpdates::default();
        let slot = sessions.join(key, entry.extent, &mut states, &mut updates, &mut changes)?;
        states
            .batch_states()
            .merge_grouped(&[slot], &saved, &[from])?;
    }
    Ok(())
}

fn entry<E: WindowRow>(times: &[i64], slot: Slot) -> Result<E> {
    E::of(times, slot).ok_or_else(|| broken("the bounds of a window are not in order"))
}

/// Loads the states of rows into slots of their own.
fn load(
    state: &mut StateStore,
    rows: usize,
    states: &[ArrayRef],
    values: &[ArrayRef],
) -> Result<Vec<Slot>> {
    let StateStore {
        query,
        accumulators,
        functions,
        ..
    } = state;
    let states = states
        .iter()
        .map(convert::view)
        .collect::<Result<Vec<_>>>()?;
    let saved = accumulators
        .load(&states)
        .map_err(|error| broken(error.to_string()))?;
    let slots = (0..rows)
        .map(|_| accumulators.allocate())
        .collect::<Result<Vec<_>>>()?;
    let from: Vec<Slot> = (0..rows as u32).map(Slot).collect();
    accumulators.merge(&slots, &saved, &from)?;
    for (nth, (function, values)) in functions.iter_mut().zip(values).enumerate() {
        function.resize(accumulators.len());
        function
            .load(&slots, values)
            .map_err(|failure| query.failed(nth, failure, None, None))?;
    }
    Ok(slots)
}

fn put<E: WindowRow>(
    store: &mut WindowTable<E>,
    name: &[u8],
    times: &[i64],
    slot: Slot,
) -> Result<()> {
    let entry: E = entry(times, slot)?;
    let key = store.intern(name)?;
    match store.put(key, entry) {
        None => Ok(()),
        Some(_) => Err(broken("a window is there twice")),
    }
}
