//! Converts the windows of a segment to pages and back.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, UInt32Array};
use arrow_select::take::take;

use super::operator_states::save;
use super::state_store::{StateStore, key_columns};
use super::window_row::WindowRow;
use super::windows::{Windows, dispatch_windows};
use crate::array::convert::check_canonical;
use crate::array::halves::in_halves;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::operator::change::WindowChange;
use crate::core::operator::pace::Emission;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::sort::pick;
use crate::core::store::{SessionEntry, StoreEntry, StoreKey, WindowTable};
use crate::core::window::Window;
use crate::keys::sort_key::SortKeyRows;
use crate::state::emissions;
use crate::state::page::broken;
use crate::state::page_writer::{self, PageColumns};
use crate::state::sorted_windows::SortedWindows;
use crate::state::stored_windows::StoredWindows;

/// Converts windows of a segment, sorted by key and id, to columns. Each returned part fits a
/// batch.
pub(super) fn sorted<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    windows: &WindowOperator<K>,
    entries: &[(StoreKey, &K::Entry)],
) -> Result<Vec<SortedWindows>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut part = |rows: Range<usize>| {
        let entries = entries.get(rows).unwrap_or_default();
        let names = entries.iter().map(|&(key, _)| windows.store().name(key));
        Ok(SortedWindows {
            names: LargeBinaryArray::from_iter_values(names),
            extents: entries.iter().map(|(_, entry)| entry.extent()).collect(),
            waiting: match windows.pace() {
                Some(pace) => emissions::waiting(pace.emissions(slots_of(entries))),
                None => Vec::new(),
            },
            columns: columns(state, windows, entries)?,
        })
    };
    in_halves(0..entries.len(), &mut part)
}

/// One row per window: key columns, times, `source`, emissions if updates have a pace, states, values
/// of user-defined functions.
fn columns<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    windows: &WindowOperator<K>,
    entries: &[(StoreKey, &K::Entry)],
) -> Result<PageColumns> {
    let slots: Vec<Slot> = slots_of(entries).collect();
    let keys = key_columns(
        &state.sort_keys,
        entries.iter().map(|&(key, _)| windows.store().name(key)),
    )?;
    let names = state
        .sort_keys
        .fields()
        .into_iter()
        .map(|field| field.name().clone());
    let times = <K::Entry>::KIND
        .times()
        .iter()
        .enumerate()
        .map(|(nth, &name)| {
            let ticks = entries.iter().map(|(_, entry)| entry.time(nth));
            let ticks: ArrayRef = Arc::new(Int64Array::from_iter_values(ticks));
            (name, ticks)
        });
    let states = state.accumulators.save(&slots);
    let emissions = match windows.pace() {
        Some(pace) => emissions::columns(pace.emissions(slots_of(entries))),
        None => PageColumns::new(),
    };
    let rows = entries.len();
    let mut columns = page_writer::window_columns(names.zip(keys), times, rows, emissions, states);
    let bounds = entries.iter().map(|(_, entry)| windows.kind.window(entry));
    let windows: Vec<Window> = bounds.collect();
    for (nth, function) in state.functions.iter().enumerate() {
        let values = save(&state.query, nth, function.as_ref(), &slots, &windows)?;
        columns.push((format!("function {nth}"), values));
    }
    Ok(columns)
}

fn slots_of<'e, E: WindowRow>(
    entries: &'e [(StoreKey, &E)],
) -> impl ExactSizeIterator<Item = Slot> + Clone + 'e {
    entries.iter().map(|(_, entry)| entry.slot())
}

/// Loads the windows of a page into a state.
pub(super) fn read(state: &mut StateStore, page: &StoredWindows) -> Result<()> {
    let names = state.sort_keys.of(page.keys())?;
    let slots = load(state, page)?;
    dispatch_windows!(&mut state.windows, |own| put_all(own, &names, page, &slots))
}

fn put_all<K: WindowKind<Entry: WindowRow>>(
    windows: &mut WindowOperator<K>,
    names: &SortKeyRows,
    page: &StoredWindows,
    slots: &[Slot],
) -> Result<()> {
    let page_kind = <K::Entry>::KIND;
    if page.kind != page_kind {
        return Err(broken("it holds windows of another kind"));
    }
    let columns = (0..page_kind.times().len()).map(|place| page.times(place));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let (kind, store, mut pace) = windows.parts_mut();
    let mut emissions = match pace {
        Some(_) => page.emissions()?,
        None => Vec::new(),
    }
    .into_iter();
    let mut times = Vec::new();
    for (row, &slot) in slots.iter().enumerate() {
        times.clear();
        times.extend(columns.iter().filter_map(|column| column.get(row)));
        let entry: K::Entry = entry(&times, slot)?;
        let (window, largest) = (kind.window(&entry), entry.largest());
        let key = put(store, names.get(row), entry)?;
        if let Some(pace) = &mut pace {
            // An open window of another query counts as one that a sink has, from no stream time.
            let emission = emissions.next().unwrap_or_else(|| Emission::at(None));
            let upsert = WindowChange::upsert(window, largest, slot, true);
            pace.restore(key, upsert, emission);
        }
    }
    Ok(())
}

/// Joins the parts of sessions in pages, and loads the sessions into a state.
pub(super) fn join(state: &mut StateStore, pages: &[StoredWindows]) -> Result<()> {
    let (Windows::Sessions(sessions), true) = (&state.windows, state.functions.is_empty()) else {
        return Err(broken(
            "it holds parts of windows, which this query stores whole",
        ));
    };
    let query = Arc::clone(&state.query);
    let mut table = SessionTable::new(Arc::clone(&query), sessions.kind.gap)?;
    for page in pages {
        table.add_partials(&page.partials()?)?;
    }
    let whole = table.coalesce(&Interrupt::never())?;
    let slots = allocate(&mut state.accumulators, &whole.states, whole.extents.len())?;
    let mut put = |rows: Range<usize>| {
        let own = whole.keys.get(rows.clone()).unwrap_or_default();
        let names = state.sort_keys.of(&table.key_columns(own)?)?;
        let Windows::Sessions(sessions) = &mut state.windows else {
            return Ok(());
        };
        for (place, row) in rows.enumerate() {
            if let (Some(&extent), Some(&slot)) = (whole.extents.get(row), slots.get(row)) {
                let session = SessionEntry { extent, slot };
                put(sessions.store_mut(), names.get(place), session)?; // close mode has no pace
            }
        }
        Ok(())
    };
    in_halves(0..whole.extents.len(), &mut put).map(drop)
}

fn entry<E: WindowRow>(times: &[i64], slot: Slot) -> Result<E> {
    E::of(times, slot).ok_or_else(|| broken("the bounds of a window are not in order"))
}

/// Loads the states of a page into new slots.
fn load(state: &mut StateStore, page: &StoredWindows) -> Result<Vec<Slot>> {
    let StateStore {
        query,
        accumulators,
        functions,
        ..
    } = state;
    let width = page.states().len().checked_sub(functions.len());
    let parts = width.and_then(|width| page.states().split_at_checked(width));
    let (states, values) = parts.ok_or_else(|| broken("columns of states are missing"))?;
    check_canonical(states)?;
    let saved = accumulators
        .load(states)
        .map_err(|error| broken(error.to_string()))?;
    let slots = allocate(accumulators, &saved, page.len())?;
    let built_in = accumulators.widths().len();
    for (nth, (function, values)) in functions.iter_mut().zip(values).enumerate() {
        function.resize(accumulators.len());
        let is_unknown = |row: &u32| saved.unknown().has(built_in + nth, Slot(*row));
        let rows = 0..Slot::of(page.len())?.0;
        let loaded = if rows.clone().any(|row| is_unknown(&row)) {
            let rows: Vec<u32> = rows.filter(|row| !is_unknown(row)).collect();
            let values = take(values, &UInt32Array::from(rows.clone()), None)?;
            function.load(&pick(&slots, &rows)?, &values)
        } else {
            function.load(&slots, values)
        };
        loaded.map_err(|failure| query.failed(nth, failure, None, None))?;
    }
    Ok(slots)
}

/// Allocates slots for the first `count` states.
fn allocate(
    accumulators: &mut Accumulators,
    states: &Accumulators,
    count: usize,
) -> Result<Vec<Slot>> {
    let slots = (0..count).map(|_| accumulators.allocate());
    let slots = slots.collect::<Result<Vec<_>>>()?;
    accumulators.merge(&slots, states, &Slot::below(count)?)?;
    Ok(slots)
}

fn put<E: WindowRow>(
    store: &mut WindowTable<E>,
    name: Option<&[u8]>,
    entry: E,
) -> Result<StoreKey> {
    let key = store.intern(name.ok_or_else(|| broken("a window has no key"))?)?;
    match store.put(key, entry) {
        None => Ok(key),
        Some(_) => Err(broken("a window appears twice")),
    }
}
