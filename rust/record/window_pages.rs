//! The windows of a segment as pages, and back.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};

use super::changes::Changes;
use super::state_store::{StateStore, key_columns};
use super::states::save;
use super::windows::Windows;
use crate::array::convert;
use crate::array::halves::in_halves;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::session::pending_updates::PendingUpdates;
use crate::core::store::{SessionEntry, StoreKey, WindowEntry, WindowTable};
use crate::core::window::Window;
use crate::format::page::{self, Label, PageBounds, broken};
use crate::format::page_writer::{self, PageColumns};
use crate::format::range_writer::{RangeWriter, SortedWindows};
use crate::format::run_range::WindowStatistics;
use crate::format::stored_range::{Vacancy, WrittenRanges};
use crate::format::window_row::WindowRow;
use crate::keys::sort_key::SortKeyRows;

/// Windows of a segment, by key and id.
struct SegmentRows<'a, E: WindowRow> {
    store: &'a WindowTable<E>,
    entries: &'a [(StoreKey, &'a E)],
    columns: PageColumns,
}

impl<E: WindowRow> SortedWindows for SegmentRows<'_, E> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn columns(&self) -> PageColumns {
        self.columns.clone()
    }

    fn name(&self, row: usize) -> Option<&[u8]> {
        let (key, _) = self.entries.get(row)?;
        Some(self.store.name(*key))
    }

    fn bounds(&self, rows: Range<usize>) -> Option<PageBounds> {
        let (first, last) = (rows.start, rows.end.checked_sub(1)?);
        let times = self.entries.get(rows)?.iter();
        let times = times.map(|(_, entry)| entry.bounds());
        Some(PageBounds {
            keys: (self.name(first)?.to_vec(), self.name(last)?.to_vec()),
            times: times
                .reduce(|(first, last), (start, reach)| (first.min(start), last.max(reach)))?,
        })
    }

    fn statistics(&self, rows: Range<usize>) -> WindowStatistics {
        statistics(self.store, self.entries.get(rows).unwrap_or_default())
    }
}

/// What is known of some windows without them.
pub(crate) fn statistics<E: WindowRow>(
    store: &WindowTable<E>,
    entries: &[(StoreKey, &E)],
) -> WindowStatistics {
    let mut statistics = WindowStatistics::NONE;
    for (_, entry) in entries {
        if entry.due() >= store.closed() {
            statistics.add_open(entry.due());
        } else {
            statistics.add_closed(entry.sort_time());
        }
    }
    statistics
}

/// Writes windows of a segment, which are in the order of their keys and ids, as runs.
///
/// # Errors
///
/// [`crate::core::error::Error::Function`] for an accumulator that does not fit its type,
/// [`crate::core::error::Error::Crowded`] where one alone does not fit an array.
pub(crate) fn write<E: WindowRow>(
    state: &StateStore,
    store: &WindowTable<E>,
    fingerprint: &str,
    vacancy: &Vacancy,
    entries: &[(StoreKey, &E)],
) -> Result<WrittenRanges> {
    let mut parts = Vec::new();
    in_halves(
        0..entries.len(),
        &mut |rows| {
            let entries = entries.get(rows).unwrap_or_default();
            let columns = columns(state, store, entries)?;
            Ok(SegmentRows {
                store,
                entries,
                columns,
            })
        },
        &mut |part| parts.push(part),
    )?;
    let writer = RangeWriter {
        form: E::FORM,
        fingerprint,
        page_bytes: state.query.limits.page_bytes,
    };
    writer.write(vacancy, &parts)
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

/// Puts the windows of a page into a state. Gives their keys.
///
/// # Errors
///
/// [`crate::core::error::Error::Format`] for columns that the state does not have, and windows that cannot be.
pub(crate) fn read(
    state: &mut StateStore,
    label: &Label,
    rows: &RecordBatch,
) -> Result<Vec<StoreKey>> {
    let columns = window_columns(state, label, rows)?;
    let slots = load(state, rows.num_rows(), columns.states, columns.values)?;
    let mut times = Vec::new();
    let mut keys = Vec::new();
    for (row, &slot) in slots.iter().enumerate() {
        let name = columns.get(row, &mut times)?;
        keys.push(match &mut state.windows {
            Windows::Sessions(sessions) => put(sessions.store_mut(), name, &times, slot)?,
            Windows::Sliding(sliding) => put(sliding.store_mut(), name, &times, slot)?,
        });
    }
    keys.dedup();
    Ok(keys)
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
) -> Result<StoreKey> {
    let entry: E = entry(times, slot)?;
    let key = store.intern(name)?;
    match store.put(key, entry) {
        None => Ok(key),
        Some(_) => Err(broken("a window is there twice")),
    }
}
