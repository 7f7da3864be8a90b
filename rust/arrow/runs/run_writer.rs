//! Sessions to the pages of a run, and to those of its index.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::run_table::StoredRun;
use crate::aggregate::slot::Slot;
use crate::arrow::array::halves::in_halves;
use crate::arrow::batch::session_groups::ClosedSessions;
use crate::arrow::batch::sessions::SessionQuery;
use crate::arrow::format::head::RunBound;
use crate::arrow::format::page::{PageBounds, PageId, PageKind, PageName};
use crate::arrow::format::page_writer::{PageColumns, window_columns, write_run};
use crate::arrow::format::window_row::WindowRow;
use crate::arrow::keys::sort_key::{SortKeyRows, SortKeys};
use crate::error::Result;
use crate::sort::{pick, prefix};
use crate::store::SessionEntry;
use crate::window::Extent;

/// A page by its name.
pub(super) type NamedPage = (PageName, Vec<u8>);

/// Writes runs of some sessions.
pub(super) struct RunWriter<'a> {
    pub sort_keys: &'a SortKeys,
    pub fingerprint: &'a str,
    /// Knows the keys of the sessions.
    pub query: &'a SessionQuery,
    pub sessions: &'a ClosedSessions,
    /// A run of fewer sessions has no index: its pages are read instead.
    pub index_rows: usize,
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
    /// Writes a run: what is known of it, its pages and those of its index.
    pub fn write(
        &self,
        segment: i64,
        run: usize,
        rows: &[u32],
    ) -> Result<(StoredRun, Vec<NamedPage>)> {
        let mut parts = Vec::new();
        let mut part = |range: Range<usize>| self.part(rows.get(range).unwrap_or_default());
        in_halves(0..rows.len(), &mut part, &mut |part| parts.push(part))?;

        let run = run as u32;
        let mut written = Vec::new();
        let first = parts.iter().flat_map(|part| &part.extents);
        let first = first.map(|extent| extent.start).min();
        let (mut pages, mut index) = (0, 0);
        for part in parts {
            let bounds = |range: Range<usize>| part.bounds(range);
            let mut write = |columns, form, number: &mut u32| -> Result<()> {
                let id = PageId {
                    segment,
                    run,
                    number: *number,
                };
                for page in write_run(columns, form, self.fingerprint, id, bounds)? {
                    *number += 1;
                    let name = PageName {
                        id: page.id,
                        is_index: form == PageKind::Index,
                    };
                    written.push((name, page.bytes));
                }
                Ok(())
            };
            if rows.len() >= self.index_rows {
                let keys = self.sort_keys.fields().len();
                let start = part.columns.iter().take(keys + 1);
                let reach = part.columns.iter().skip(keys + 2).take(1);
                let columns = start.chain(reach).cloned().collect();
                write(columns, PageKind::Index, &mut index)?;
            }
            write(part.columns.clone(), PageKind::Sessions, &mut pages)?;
        }
        let bound = RunBound {
            first: first.map_or(i64::MIN, |first| first.0),
            rows: rows.len() as u64,
            index,
        };
        Ok((StoredRun { pages, bound }, written))
    }

    fn part(&self, rows: &[u32]) -> Result<Part> {
        let ClosedSessions {
            keys,
            extents,
            states,
            ..
        } = self.sessions;
        let columns = self.query.key_columns(&pick(keys, rows))?;
        let names = self.sort_keys.of(&columns)?;
        let mut order: Vec<(u128, u32)> = (0..rows.len())
            .map(|row| (prefix(names.get(row).unwrap_or_default()), row as u32))
            .collect();
        order.sort_unstable_by(|(left, a), (right, b)| {
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
        let rows = pick(rows, &order);
        let slots: Vec<Slot> = rows.iter().copied().map(Slot).collect();
        let extents = pick(extents, &rows);
        let keys = self.query.key_columns(&pick(keys, &rows))?;
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

impl Part {
    /// The sort key of a session.
    fn name(&self, row: usize) -> Option<&[u8]> {
        self.names.get(*self.order.get(row)? as usize)
    }

    /// The bounds of some of its sessions.
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
}

fn times(extents: &[Extent], time: impl Fn(&Extent) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(extents.iter().map(time)))
}
