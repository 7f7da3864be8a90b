//! Sorted windows to runs of a range of keys each.

use std::ops::Range;

use super::page::{NamedPage, PageBounds, PageId, PageKind};
use super::page_writer::{PageColumns, RunRows};
use super::run_range::{WindowStatistics, divide};
use super::stored_range::{StoredRange, Vacancy, WrittenRanges};
use crate::core::error::Result;

/// Windows by key, end and start, and their columns.
pub(crate) trait SortedWindows {
    /// How many there are.
    fn len(&self) -> usize;
    /// All columns of pages.
    fn columns(&self) -> PageColumns;
    /// The sort key of a window.
    fn name(&self, row: usize) -> Option<&[u8]>;
    /// The bounds of some of them.
    fn bounds(&self, rows: Range<usize>) -> Option<PageBounds>;
    /// What is known of some of them without them.
    fn statistics(&self, rows: Range<usize>) -> WindowStatistics;
}

/// Writes windows of a kind.
pub(crate) struct RangeWriter<'a> {
    pub form: PageKind,
    pub fingerprint: &'a str,
    pub page_bytes: usize,
}

impl RangeWriter<'_> {
    /// Writes windows as runs with about as many in each as are in a page. They come in parts of which
    /// each fits a batch; several are one run.
    ///
    /// # Errors
    ///
    /// Those of Arrow.
    pub fn write(&self, vacancy: &Vacancy, parts: &[impl SortedWindows]) -> Result<WrittenRanges> {
        let mut written = WrittenRanges::default();
        match parts {
            [part] => {
                let rows = RunRows::new(part.columns(), self.page_bytes)?;
                let most = part.len().div_ceil(rows.pages(part.len()));
                let pieces = divide(part.len(), most, vacancy.from.clone(), |row| part.name(row));
                for ((from, piece), run) in pieces.into_iter().zip(vacancy.numbers()) {
                    let mut stored = StoredRange::new(run, from);
                    self.append(
                        part,
                        &rows,
                        piece.clone(),
                        vacancy,
                        &mut stored,
                        &mut written.pages,
                    )?;
                    written.ranges.push(stored);
                    written.rows.push(piece);
                }
            }
            parts => {
                let run = vacancy.numbers().next().unwrap_or_default();
                let mut stored = StoredRange::new(run, vacancy.from.clone());
                for part in parts {
                    let rows = RunRows::new(part.columns(), self.page_bytes)?;
                    self.append(
                        part,
                        &rows,
                        0..part.len(),
                        vacancy,
                        &mut stored,
                        &mut written.pages,
                    )?;
                }
                written.ranges.push(stored);
                written
                    .rows
                    .push(0..parts.iter().map(SortedWindows::len).sum());
            }
        }
        Ok(written)
    }

    /// Adds the pages of some windows to a run.
    fn append(
        &self,
        part: &impl SortedWindows,
        rows: &RunRows,
        range: Range<usize>,
        vacancy: &Vacancy,
        stored: &mut StoredRange,
        written: &mut Vec<NamedPage>,
    ) -> Result<()> {
        let next = PageId {
            segment: vacancy.segment,
            run: stored.range.run,
            number: stored.pages,
        };
        let windows = &mut stored.range.windows;
        *windows = windows.union(&part.statistics(range.clone()));
        let bounds = |range: Range<usize>| part.bounds(range);
        let pages = rows.write(range, self.form, self.fingerprint, next, bounds)?;
        stored.pages += pages.len() as u32;
        written.extend(pages);
        Ok(())
    }
}
