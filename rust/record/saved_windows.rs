//! Writes the runs of an operator in which a window has changed, as pages.

use super::state_store::StateStore;
use super::window_pages;
use super::window_row::WindowRow;
use super::windows::dispatch_windows;
use crate::core::error::Result;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::store::{SegmentId, StoreKey, WindowTable};
use crate::core::window::Extent;
use crate::state::run_writer::RunWriter;
use crate::state::segment_table::place;
use crate::state::snapshot::{Snapshot, UNREAD};
use crate::state::stored_run::{ChangedPages, StoredRun, WindowStatistics};

/// The windows of a segment, sorted by key and id.
type Entries<'s, E> = Vec<(StoreKey, &'s E)>;

/// Writes the runs in which a window has changed since the store was marked clean. Writes all
/// windows if nothing is saved yet.
pub(super) fn write(state: &StateStore, snapshot: &mut Snapshot) -> Result<ChangedPages> {
    dispatch_windows!(&state.windows, |own| write_changed(state, own, snapshot))
}

fn write_changed<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    windows: &WindowOperator<K>,
    snapshot: &mut Snapshot,
) -> Result<ChangedPages> {
    let store = windows.store();
    let changed: Vec<(SegmentId, Option<Vec<&[u8]>>)> = match store.changed() {
        Some(changed) if !snapshot.table.is_empty() => changed
            .iter()
            .map(|(&id, keys)| (id, keys.names().map(Iterator::collect)))
            .collect(),
        _ => store.segments().map(|id| (id, None)).collect(),
    };
    let mut pages = ChangedPages::new();
    for (id, names) in changed {
        write_segment(state, windows, snapshot, id, names, &mut pages)?;
    }
    update_statistics(store, snapshot)?;
    Ok(pages)
}

/// Writes the runs of a segment in which a key of `names` has changed. Without `names`, writes all
/// runs that were read.
fn write_segment<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    windows: &WindowOperator<K>,
    snapshot: &mut Snapshot,
    id: SegmentId,
    names: Option<Vec<&[u8]>>,
    pages: &mut ChangedPages,
) -> Result<()> {
    let (store, runs) = (windows.store(), snapshot.table.segment(id.0));
    let mut is_changed = snapshot.is_read(id.0);
    if let Some(names) = &names {
        is_changed.fill(false);
        for name in names {
            if let Some(changed) = is_changed.get_mut(place(runs, name)) {
                *changed = true;
            }
        }
    }
    snapshot.check_read(id.0, &is_changed)?;
    let entries = store.segment(id);
    let froms: Vec<Vec<u8>> = runs.iter().map(|run| run.from.clone()).collect();
    let mut rows = 0;
    let Snapshot {
        fingerprint, table, ..
    } = snapshot;
    let writer = RunWriter {
        kind: <K::Entry>::KIND,
        fingerprint: &fingerprint.hash,
        keys: state.query.keys.len(),
        page_bytes: state.query.limits.page_bytes,
        closed: store.closed(),
    };
    table.rewrite(id.0, &is_changed, &writer, pages, |group, from| {
        let own = within(store, &entries, from, froms.get(group.end));
        rows += own.len();
        window_pages::sorted(state, windows, own)
    })?;
    if names.is_none() && rows < entries.len() {
        return Err(UNREAD);
    }
    Ok(())
}

/// The windows of a range of keys.
fn within<'e, 's, E: WindowRow>(
    store: &WindowTable<E>,
    entries: &'e Entries<'s, E>,
    from: &[u8],
    to: Option<&Vec<u8>>,
) -> &'e [(StoreKey, &'s E)] {
    let position = |from: &[u8]| entries.partition_point(|&(key, _)| store.name(key) < from);
    let to = to.map_or(entries.len(), |to| position(to));
    entries.get(position(from)..to).unwrap_or_default()
}

/// Updates the statistics of runs in which a window has closed but is kept.
fn update_statistics<E: WindowRow>(store: &WindowTable<E>, snapshot: &mut Snapshot) -> Result<()> {
    let (closed, kept) = (store.closed(), store.horizon().kept);
    let changes = |run: &StoredRun| run.windows.change_before(closed, kept);
    let mut updated = Vec::new();
    for (segment, runs) in snapshot.table.segments() {
        let is_changed: Vec<bool> = runs.iter().map(changes).collect();
        if !is_changed.contains(&true) {
            continue;
        }
        snapshot.check_read(segment, &is_changed)?;
        let entries = store.segment(SegmentId(segment));
        for (place, run) in runs.iter().enumerate().filter(|(_, run)| changes(run)) {
            let next = runs.get(place + 1).map(|next| &next.from);
            let own = within(store, &entries, &run.from, next).iter();
            let extents: Vec<Extent> = own.map(|(_, entry)| entry.extent()).collect();
            let statistics = WindowStatistics::of(&extents, closed);
            updated.push((segment, place, statistics.waiting_like(&run.windows)));
        }
    }
    for (segment, place, windows) in updated {
        snapshot.table.set_statistics(segment, place, windows);
    }
    Ok(())
}
