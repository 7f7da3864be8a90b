//! The runs of an operator's state as it was last written or read, and which of them have changed.

use std::collections::{BTreeMap, BTreeSet};

use super::state_store::StateStore;
use super::window_pages;
use super::windows::Windows;
use crate::core::error::Result;
use crate::core::store::{SegmentId, StoreKey, WindowTable};
use crate::state::head::Head;
use crate::state::page::{PageId, broken};
use crate::state::range_table::{RangeTable, UNREAD, place};
use crate::state::run_range::RunRange;
use crate::state::stored_range::{ChangedPages, WrittenRanges};
use crate::state::window_row::WindowRow;

/// The runs of a state.
#[derive(Debug, Default)]
pub(crate) struct SavedRuns {
    table: RangeTable,
    /// The keys of the runs whose windows the operator has, by segment and number. Of a run that has
    /// changed since, a number may meanwhile be that of another key, in another run.
    keys: BTreeMap<(i64, u32), Vec<StoreKey>>,
}

impl SavedRuns {
    /// The runs that a head names, of which those with these pages are read.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for some pages of a run without the others, and for pages of no run.
    pub fn of(head: &Head, pages: &BTreeSet<PageId>) -> Result<Self> {
        let table = RangeTable::of(head)?;
        let mut keys = BTreeMap::new();
        let mut known = 0;
        for (segment, ranges) in table.segments() {
            for stored in ranges {
                let read = stored
                    .names(segment)
                    .filter(|name| pages.contains(&name.id));
                let read = read.count();
                if read == stored.pages as usize {
                    keys.insert((segment, stored.range.run), Vec::new());
                } else if read > 0 {
                    return Err(broken("pages of a run are missing"));
                }
                known += read;
            }
        }
        if known < pages.len() {
            return Err(broken("some pages are not of this state"));
        }
        Ok(Self { table, keys })
    }

    /// Adds the keys of a page that was read.
    pub fn add_keys(&mut self, page: PageId, keys: Vec<StoreKey>) {
        if let Some(known) = self.keys.get_mut(&(page.segment, page.run)) {
            known.extend(keys);
        }
    }

    /// How many open windows there are in runs that were not read.
    pub fn unread(&self) -> u64 {
        let segments = self.table.segments();
        let runs = segments.flat_map(|(id, ranges)| ranges.iter().map(move |range| (id, range)));
        let unread = runs.filter(|(id, stored)| !self.keys.contains_key(&(*id, stored.range.run)));
        unread.fold(0, |open, (_, stored)| {
            open.saturating_add(stored.range.windows.open)
        })
    }

    /// The runs, as a head says them.
    pub fn table(&self) -> &RangeTable {
        &self.table
    }

    /// Writes the runs in which a window has changed since the store was marked clean; where nothing is
    /// saved, all windows.
    ///
    /// # Errors
    ///
    /// Those of [`window_pages::write`]; [`crate::core::error::Error::Internal`] for a change in a run that was not read.
    pub fn write(&mut self, state: &StateStore, fingerprint: &str) -> Result<ChangedPages> {
        match &state.windows {
            Windows::Sessions(sessions) => self.write_changed(state, sessions.store(), fingerprint),
            Windows::Sliding(sliding) => self.write_changed(state, sliding.store(), fingerprint),
        }
    }

    fn write_changed<E: WindowRow>(
        &mut self,
        state: &StateStore,
        store: &WindowTable<E>,
        fingerprint: &str,
    ) -> Result<ChangedPages> {
        let changed: Vec<(SegmentId, Option<Vec<&[u8]>>)> = match store.changed() {
            Some(changed) if !self.table.is_empty() => changed
                .iter()
                .map(|(&id, keys)| (id, keys.names().map(Iterator::collect)))
                .collect(),
            _ => store.segments().map(|id| (id, None)).collect(),
        };
        let mut pages = ChangedPages::new();
        for (id, names) in changed {
            self.write_segment(state, store, fingerprint, id, names, &mut pages)?;
        }
        self.update_statistics(store)?;
        Ok(pages)
    }

    /// Writes the runs of a segment in which a key has changed; of no `names` all that were read.
    fn write_segment<E: WindowRow>(
        &mut self,
        state: &StateStore,
        store: &WindowTable<E>,
        fingerprint: &str,
        id: SegmentId,
        names: Option<Vec<&[u8]>>,
        pages: &mut ChangedPages,
    ) -> Result<()> {
        let Self { table, keys } = self;
        let ranges = table.segment(id.0);
        let runs: Vec<(i64, u32)> = ranges.iter().map(|own| (id.0, own.range.run)).collect();
        let mut is_changed = vec![names.is_none(); runs.len()];
        let entries = match &names {
            None => {
                let read = is_changed.iter_mut().zip(&runs);
                read.for_each(|(changed, run)| *changed = keys.contains_key(run));
                store.segment(id)
            }
            Some(names) => {
                for name in names {
                    if let Some(changed) = is_changed.get_mut(place(ranges, name)) {
                        *changed = true;
                    }
                }
                let changed = runs.iter().zip(&is_changed);
                let changed = changed.filter_map(|(run, &changed)| changed.then_some(run));
                let mut own: Vec<StoreKey> =
                    names.iter().filter_map(|name| store.key(name)).collect();
                for run in changed {
                    own.extend(keys.get(run).ok_or(UNREAD)?);
                }
                store.segment_keys(id, own)
            }
        };
        let froms: Vec<Vec<u8>> = ranges.iter().map(|own| own.range.from.clone()).collect();
        let position = |from: &[u8]| entries.partition_point(|&(key, _)| store.name(key) < from);
        let mut rows = 0;
        table.rewrite(id.0, &is_changed, pages, |group, vacancy| {
            let to = froms
                .get(group.end)
                .map_or(entries.len(), |from| position(from));
            for run in runs.get(group).unwrap_or_default() {
                keys.remove(run);
            }
            let own = entries.get(position(&vacancy.from)..to).unwrap_or_default();
            if own.is_empty() {
                return Ok(WrittenRanges::default());
            }
            rows += own.len();
            let written = window_pages::write(state, store, fingerprint, vacancy, own)?;
            for (stored, rows) in written.ranges.iter().zip(&written.rows) {
                let rows = own.get(rows.clone()).unwrap_or_default().iter();
                let mut own: Vec<StoreKey> = rows.map(|&(key, _)| key).collect();
                own.dedup();
                keys.insert((id.0, stored.range.run), own);
            }
            Ok(written)
        })?;
        if names.is_none() && rows < entries.len() {
            return Err(UNREAD);
        }
        Ok(())
    }

    /// Says anew what is in the runs in which a window has closed and is kept.
    fn update_statistics<E: WindowRow>(&mut self, store: &WindowTable<E>) -> Result<()> {
        let (closed, kept) = (store.closed(), store.horizon().kept);
        let mut updated = Vec::new();
        for (segment, ranges) in self.table.segments() {
            for (place, stored) in ranges.iter().enumerate() {
                let RunRange { run, windows, .. } = &stored.range;
                if windows.change_before(closed, kept) {
                    let keys = self.keys.get(&(segment, *run)).ok_or(UNREAD)?;
                    let entries = store.segment_keys(SegmentId(segment), keys.clone());
                    updated.push((segment, place, window_pages::statistics(store, &entries)));
                }
            }
        }
        for (segment, place, windows) in updated {
            self.table.set_statistics(segment, place, windows);
        }
        Ok(())
    }
}
