//! Writes sorted windows as runs.

use std::collections::BTreeSet;
use std::ops::Range;

use super::page::{PageId, PageKind};
use super::page_writer::{PageColumns, RunRows};
use super::sorted_windows::SortedWindows;
use super::stored_run::{ChangedPages, StoredRun};
use crate::core::error::Result;
use crate::core::time::Time;

/// The maximum length of a key prefix that starts a range of keys, in bytes.
const FROM_BYTES: usize = 256;

/// A place for new runs in a segment.
pub(crate) struct Vacancy {
    pub segment: i64,
    /// The sort key at which the first new run begins.
    pub from: Vec<u8>,
    /// The numbers of the other runs.
    pub taken: BTreeSet<u32>,
}

/// Writes windows of one kind.
pub(crate) struct RunWriter<'a> {
    pub kind: PageKind,
    pub fingerprint: &'a str,
    /// The number of key columns.
    pub keys: usize,
    /// The approximate size of an uncompressed page, in bytes.
    pub page_bytes: usize,
    /// Windows due before this are closed.
    pub closed: Time,
}

impl RunWriter<'_> {
    /// Writes windows as runs of about one page each. Each part fits a batch. Several parts become
    /// a single run.
    pub(crate) fn write_ranges(
        &self,
        vacancy: Vacancy,
        parts: &[SortedWindows],
        changed: &mut ChangedPages,
    ) -> Result<Vec<StoredRun>> {
        let Vacancy {
            segment,
            from,
            taken,
        } = vacancy;
        let mut numbers = (0..).filter(|number| !taken.contains(number));
        let [part] = parts else {
            let run = StoredRun::new(numbers.next().unwrap_or_default(), from);
            return Ok(vec![self.write(segment, run, parts, false, changed)?]);
        };
        let rows = RunRows::new(part.columns.clone(), self.page_bytes)?;
        let most = part.len().div_ceil(rows.pages(part.len()));
        let pieces = divide(part.len(), most, from, |row| part.name(row));
        let runs = pieces
            .into_iter()
            .zip(numbers)
            .map(|((from, piece), number)| {
                let mut run = StoredRun::new(number, from);
                self.append(segment, &mut run, part, &rows, piece, changed)?;
                Ok(run)
            });
        runs.collect()
    }

    /// Writes windows as one run. `has_index` adds an index of their keys and bounds.
    pub(crate) fn write(
        &self,
        segment: i64,
        mut run: StoredRun,
        parts: &[SortedWindows],
        has_index: bool,
        changed: &mut ChangedPages,
    ) -> Result<StoredRun> {
        for part in parts {
            let all = 0..part.len();
            if has_index {
                let rows = RunRows::new(self.index_columns(&part.columns), self.page_bytes)?;
                let next = page_id(segment, &run, run.index);
                let bounds = |range: Range<usize>| part.bounds(range);
                let kind = PageKind::Index;
                let pages = rows.write(all.clone(), kind, self.fingerprint, next, bounds)?;
                run.index += pages.len() as u32;
                changed.extend(pages.into_iter().map(|(name, page)| (name, Some(page))));
            }
            let rows = RunRows::new(part.columns.clone(), self.page_bytes)?;
            self.append(segment, &mut run, part, &rows, all, changed)?;
        }
        Ok(run)
    }

    /// The key columns, `start` and `reach` of sessions.
    fn index_columns(&self, columns: &PageColumns) -> PageColumns {
        let start = columns.iter().take(self.keys + 1);
        let reach = columns.iter().skip(self.keys + 2).take(1);
        start.chain(reach).cloned().collect()
    }

    /// Appends a range of windows to a run, as pages.
    fn append(
        &self,
        segment: i64,
        run: &mut StoredRun,
        part: &SortedWindows,
        rows: &RunRows,
        range: Range<usize>,
        changed: &mut ChangedPages,
    ) -> Result<()> {
        let statistics = part.statistics(range.clone(), self.closed);
        run.windows = run.windows.union(&statistics);
        let next = page_id(segment, run, run.pages);
        let bounds = |range: Range<usize>| part.bounds(range);
        let pages = rows.write(range, self.kind, self.fingerprint, next, bounds)?;
        run.pages += pages.len() as u32;
        changed.extend(pages.into_iter().map(|(name, page)| (name, Some(page))));
        Ok(())
    }
}

fn page_id(segment: i64, run: &StoredRun, number: u32) -> PageId {
    PageId {
        segment,
        run: run.number,
        number,
    }
}

/// Divides sorted rows into ranges of keys with about `most` rows each, if keys allow it. Returns
/// where each range begins, and its rows. The first range begins at `from`. `name` returns the sort
/// key of a row.
fn divide<'n>(
    rows: usize,
    most: usize,
    from: Vec<u8>,
    name: impl Fn(usize) -> Option<&'n [u8]>,
) -> Vec<(Vec<u8>, Range<usize>)> {
    let most = most.max(1);
    let mut pieces = Vec::new();
    let (mut start, mut from) = (0, from);
    let mut at = most;
    while at < rows {
        let keys = name(at - 1).zip(name(at));
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

/// The shortest prefix of a key that is greater than the key before it. `None` if the prefix is too
/// long, or the keys are equal.
fn from_of(before: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    let from = key.get(..=same)?;
    (from.len() <= FROM_BYTES).then(|| from.to_vec())
}
