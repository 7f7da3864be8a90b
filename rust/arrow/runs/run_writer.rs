//! Sessions to the pages of runs, and to those of their indexes.

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
use crate::arrow::format::page_writer::{PageColumns, RunRows, window_columns};
use crate::arrow::format::range_table::StoredRange;
use crate::arrow::format::run_range::RunRange;
use crate::arrow::format::window_row::WindowRow;
use crate::arrow::keys::sort_key::{SortKeyRows, SortKeys};
use crate::arrow::plan::limits::Limits;
use crate::error::Result;
use crate::sort::{pick, prefix};
use crate::store::SessionEntry;
use crate::time::Time;
use crate::window::Extent;

/// A page by its name.
pub(super) type NamedPage = (PageName, Vec<u8>);

/// The longest beginning of a key at which a range of keys begins.
const FROM_BYTES: usize = 64;

/// Writes runs of some sessions.
pub(super) struct RunWriter<'a> {
    pub sort_keys: &'a SortKeys,
    pub fingerprint: &'a str,
    /// Knows the keys of the sessions.
    pub query: &'a SessionQuery,
    pub sessions: &'a ClosedSessions,
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
            let all = 0..part.order.len();
            if rows.len() >= self.limits.index_rows {
                let keys = self.sort_keys.fields().len();
                let start = part.columns.iter().take(keys + 1);
                let reach = part.columns.iter().skip(keys + 2).take(1);
                let columns = start.chain(reach).cloned().collect();
                let index_rows = RunRows::new(columns, self.limits.page_bytes)?;
                written.extend(self.pages(
                    &part,
                    &index_rows,
                    all.clone(),
                    PageKind::Index,
                    index,
                )?);
            }
            let rows = RunRows::new(part.columns.clone(), self.limits.page_bytes)?;
            written.extend(self.pages(&part, &rows, all, PageKind::Sessions, pages)?);
        }
        let bound = RunBound {
            first: first.map_or(i64::MIN, |first| first.0),
            rows: rows.len() as u64,
            index: index.number,
        };
        let pages = pages.number;
        Ok((StoredRun { pages, bound }, written))
    }

    /// Writes sessions as runs of a range of keys each, the first of them from a key on, about as many
    /// in each as are in a page. `numbers` are those that the runs may have.
    pub fn write_ranges(
        &self,
        segment: i64,
        mut numbers: impl Iterator<Item = u32>,
        from: &[u8],
        rows: &[u32],
    ) -> Result<(Vec<StoredRange>, Vec<NamedPage>)> {
        let parts = self.parts(rows)?;
        let are_sorted = parts.len() == 1; // several are one range: keys are in order in each part only
        let mut ranges: Vec<StoredRange> = Vec::new();
        let mut written = Vec::new();
        for part in &parts {
            let rows = RunRows::new(part.columns.clone(), self.limits.page_bytes)?;
            let pieces = if are_sorted {
                part.pieces(from, &rows)
            } else {
                vec![(from.to_vec(), 0..part.order.len())]
            };
            for (from, piece) in pieces {
                let mut next = PageId {
                    segment,
                    run: 0,
                    number: 0,
                };
                let open = ranges.last_mut().filter(|_| !are_sorted);
                (next.run, next.number) = match &open {
                    Some(range) => (range.range.run, range.pages),
                    None => (numbers.next().unwrap_or_default(), 0),
                };
                let due = part.due(piece.clone());
                let count = piece.len() as u64;
                written.extend(self.pages(part, &rows, piece, PageKind::Sessions, &mut next)?);
                match open {
                    Some(StoredRange { range, pages }) => {
                        range.open += count;
                        range.due = range.due.min(due.0);
                        *pages = next.number;
                    }
                    None => ranges.push(StoredRange {
                        range: RunRange {
                            run: next.run,
                            from,
                            open: count,
                            due: due.0,
                        },
                        pages: next.number,
                    }),
                }
            }
        }
        Ok((ranges, written))
    }

    /// Sessions in parts of which each fits a batch.
    fn parts(&self, rows: &[u32]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut part = |range: Range<usize>| self.part(rows.get(range).unwrap_or_default());
        in_halves(0..rows.len(), &mut part, &mut |part| parts.push(part))?;
        Ok(parts)
    }

    /// Some sessions as pages, from a page on, which becomes the next one.
    fn pages(
        &self,
        part: &Part,
        rows: &RunRows,
        range: Range<usize>,
        form: PageKind,
        next: &mut PageId,
    ) -> Result<Vec<NamedPage>> {
        let bounds = |range: Range<usize>| part.bounds(range);
        let pages = rows.write(range, form, self.fingerprint, *next, bounds)?;
        next.number += pages.len() as u32;
        let is_index = form == PageKind::Index;
        let named = pages.into_iter().map(|page| {
            let id = page.id;
            (PageName { id, is_index }, page.bytes)
        });
        Ok(named.collect())
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

/// The beginning of a key that is greater than the key before it; none where it is long, or both are
/// the same.
fn from_of(before: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    let from = key.get(..=same)?;
    (from.len() <= FROM_BYTES).then(|| from.to_vec())
}

impl Part {
    /// The sessions in ranges of keys, the first one from a key on: as long as pages, if keys allow it.
    fn pieces(&self, from: &[u8], run: &RunRows) -> Vec<(Vec<u8>, Range<usize>)> {
        let rows = self.order.len();
        let most = rows.div_ceil(run.pages(rows)).max(1);
        let mut pieces = Vec::new();
        let (mut start, mut from) = (0, from.to_vec());
        let mut at = most;
        while at < rows {
            let keys = self.name(at - 1).zip(self.name(at));
            match keys.and_then(|(before, key)| from_of(before, key)) {
                Some(next) => {
                    pieces.push((std::mem::replace(&mut from, next), start..at));
                    start = at;
                    at += most;
                }
                None => at += 1,
            }
        }
        pieces.push((from, start..rows));
        pieces
    }

    /// When the first of some of its sessions is due.
    fn due(&self, rows: Range<usize>) -> Time {
        let extents = self.extents.get(rows).unwrap_or_default().iter();
        let due = extents.map(|extent| extent.reach).min();
        due.unwrap_or(Time::MAX)
    }

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
