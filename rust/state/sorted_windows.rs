//! Windows of a segment as columns, sorted: what is written as pages.

use std::ops::Range;

use arrow_array::{Array, LargeBinaryArray};

use super::page::PageBounds;
use super::page_writer::PageColumns;
use super::stored_run::WindowStatistics;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Windows by key, end and start; they fit a batch.
pub(crate) struct SortedWindows {
    /// Their sort keys.
    pub names: LargeBinaryArray,
    /// When they start, end and are due; a sliding window has its start in all three.
    pub extents: Vec<Extent>,
    /// All columns of pages.
    pub columns: PageColumns,
}

impl SortedWindows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.extents.len()
    }

    /// The sort key of a window.
    pub fn name(&self, row: usize) -> Option<&[u8]> {
        (row < self.names.len()).then(|| self.names.value(row))
    }

    /// The bounds of some of them.
    pub fn bounds(&self, rows: Range<usize>) -> Option<PageBounds> {
        let (first, last) = (rows.start, rows.end.checked_sub(1)?);
        let extents = self.extents.get(rows)?;
        Some(PageBounds {
            keys: (self.name(first)?.to_vec(), self.name(last)?.to_vec()),
            times: (
                extents.iter().map(|extent| extent.start).min()?,
                extents.iter().map(|extent| extent.reach).max()?,
            ),
        })
    }

    /// What is known of some of them without them; those due before `closed` are closed.
    pub fn statistics(&self, rows: Range<usize>, closed: Time) -> WindowStatistics {
        WindowStatistics::of(self.extents.get(rows).unwrap_or_default(), closed)
    }
}
