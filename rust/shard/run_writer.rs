//! Sessions to the pages of runs, and to those of their indexes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::run_table::StoredRun;
use crate::array::halves::in_halves;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::sort::{pick, prefix};
use crate::core::store::SessionEntry;
use crate::core::window::Extent;
use crate::format::head::RunBound;
use crate::format::page::{NamedPage, PageBounds, PageId, PageKind};
use crate::format::page_writer::{PageColumns, RunRows, window_columns};
use crate::format::range_writer::{RangeWriter, SortedWindows};
use crate::format::run_range::WindowStatistics;
use crate::format::stored_range::{Vacancy, WrittenRanges};
use crate::format::window_row::WindowRow;
use crate::keys::sort_key::{SortKeyRows, SortKeys};
use crate::plan::limits::Limits;

/// Writes runs of some sessions.
pub(super) struct RunWriter<'a> {
    pub sort_keys: &'a SortKeys,
    pub fingerprint: &'a str,
    /// Knows the keys of the sessions.
    pub query: &'a SessionTable,
    pub sessions: &'a SessionColumns,
    pub limits: &'a Limits,
}

/// Some sessions of a run.
struct Part {
    /// Their sort keys, as the sessions came.
    names: SortKeyRows,
    /// The sessions by key, end and start.
    order: Vec<u32>,
    /// The extents in this order.
    extents: Vec<Extent>,
    /// All columns of pages in this order.
    columns: PageColumns,
}

impl RunWriter<'_> {
    /// Writes a run: what is known of it, its pages and those of its index. One of few sessions has
    /// no index: its pages are read instead.
    pub fn write(
        &self,
        segment: i64,
        run: usize,
        rows: &[u32],
    ) -> Result<(StoredRun, Vec<NamedPage>)> {
        let parts = self.parts(rows)?;
        let first = parts.iter().flat_map(|part| &part.extents);
        let first = first.map(|extent| extent.start).min();
        let mut ids = [PageId {
            segment,
            run: run as u32,
            number: 0,
        }; 2];
        let [pages, index] = &mut ids;
        let mut written = Vec::new();
        for part in parts {
            if rows.len() >= self.limits.index_rows {
                let keys = self.sort_keys.fields().len();
                let start = part.columns.iter().take(keys + 1);
                let reach = part.columns.iter().skip(keys + 2).take(1);
                let columns = start.chain(reach).cloned().collect();
                written.extend(self.pages(&part, columns, PageKind::Index, index)?);
            }
            let columns = part.columns.clone();
            written.extend(self.pages(&part, columns, PageKind::Sessions, pages)?);
        }
        let bound = RunBound {
            first: first.map_or(i64::MIN, |first| first.0),
            rows: rows.len() as u64,
            index: index.number,
        };
        let pages = pages.number;
        Ok((StoredRun { pages, bound }, written))
    }

    /// Writes sessions as runs of a range of keys each, about as many in each as are in a page.
    pub fn write_ranges(&self, vacancy: &Vacancy, rows: &[u32]) -> Result<WrittenRanges> {
        let writer = RangeWriter {
            form: PageKind::Sessions,
            fingerprint: self.fingerprint,
            page_bytes: self.limits.page_bytes,
        };
        writer.write(vacancy, &self.parts(rows)?)
    }

    /// Sessions in parts of which each fits a batch.
    fn parts(&self, rows: &[u32]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut part = |range: Range<usize>| self.part(rows.get(range).unwrap_or_default());
        in_halves(0..rows.len(), &mut part, &mut |part| parts.push(part))?;
        Ok(parts)
    }

    /// Some columns of sessions as pages, from a page on, which becomes the next one.
    fn pages(
        &self,
        part: &Part,
        columns: PageColumns,
        form: PageKind,
        next: &mut PageId,
    ) -> Result<Vec<NamedPage>> {
        let rows = RunRows::new(columns, self.limits.page_bytes)?;
        let bounds = |range: Range<usize>| part.bounds(range);
        let pages = rows.write(0..part.len(), form, self.fingerprint, *next, bounds)?;
        next.number += pages.len() as u32;
        Ok(pages)
    }

    fn part(&self, rows: &[u32]) -> Result<Part> {
        let SessionColumns {
            keys,
            extents,
            states,
            ..
        } = self.sessions;
        let columns = self.query.key_columns(&pick(keys, rows)?)?;
        let names = self.sort_keys.of(&columns)?;
        let mut order: Vec<(u128, u32)> = (0..rows.len())
            .map(|row| (prefix(names.get(row).unwrap_or_default()), row as u32))
            .collect();
        // A stable sort, for it joins stretches that are in order: what was read from pages is.
        order.sort_by(|(left, a), (right, b)| {
            let name = |row: &u32| names.get(*row as usize);
            let extent = |row: &u32| {
                let slot = rows.get(*row as usize)?;
                let extent = extents.get(*slot as usize)?;
                Some((extent.end, extent.start))
            };
            left.cmp(right)
                .then_with(|| name(a).cmp(&name(b)))
                .then_with(|| extent(a).cmp(&extent(b)))
        });
        let order: Vec<u32> = order.into_iter().map(|(_, row)| row).collect();
        let rows = pick(rows, &order)?;
        let slots: Vec<Slot> = rows.iter().copied().map(Slot).collect();
        let extents = pick(extents, &rows)?;
        let keys = self.query.key_columns(&pick(keys, &rows)?)?;
        let fields = self.sort_keys.fields().into_iter();
        let fields = fields.map(|field| field.name().clone());
        let bounds = [
            times(&extents, |extent| extent.start.0),
            times(&extents, |extent| extent.end.0),
            times(&extents, |extent| extent.reach.0),
        ];
        let bounds = SessionEntry::COLUMNS.iter().copied().zip(bounds);
        let columns = window_columns(fields.zip(keys), bounds, rows.len(), states.save(&slots))?;
        Ok(Part {
            names,
            order,
            extents,
            columns,
        })
    }
}

impl SortedWindows for Part {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn columns(&self) -> PageColumns {
        self.columns.clone()
    }

    fn name(&self, row: usize) -> Option<&[u8]> {
        self.names.get(*self.order.get(row)? as usize)
    }

    fn bounds(&self, rows: Range<usize>) -> Option<PageBounds> {
        let extents = self.extents.get(rows.clone())?;
        let (first, last) = (rows.start, rows.end.checked_sub(1)?);
        Some(PageBounds {
            keys: (self.name(first)?.to_vec(), self.name(last)?.to_vec()),
            times: (
                extents.iter().map(|extent| extent.start).min()?,
                extents.iter().map(|extent| extent.reach).max()?,
            ),
        })
    }

    /// All of them are open.
    fn statistics(&self, rows: Range<usize>) -> WindowStatistics {
        let mut statistics = WindowStatistics::NONE;
        let extents = self.extents.get(rows).unwrap_or_default().iter();
        extents.for_each(|extent| statistics.add_open(extent.reach));
        statistics
    }
}

fn times(extents: &[Extent], time: impl Fn(&Extent) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(extents.iter().map(time)))
}
