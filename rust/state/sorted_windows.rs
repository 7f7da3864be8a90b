//! Sorted windows of a segment as columns, before they are written as pages.

use std::ops::Range;

use arrow_array::{Array, LargeBinaryArray};

use super::page::PageBounds;
use super::page_writer::PageColumns;
use super::stored_run::{NEVER, WindowStatistics};
use crate::core::time::Time;
use crate::core::window::Extent;

/// Windows sorted by key, end and start. They fit a batch.
pub(crate) struct SortedWindows {
    /// Their sort keys.
    pub names: LargeBinaryArray,
    /// When windows start, end and are due. All three are the start of a sliding window.
    pub extents: Vec<Extent>,
    /// When the windows that wait were emitted last. The latest time for windows that do not wait.
    /// Empty if updates have no pace.
    pub waiting: Vec<Time>,
    /// All columns of a page.
    pub columns: PageColumns,
}

impl SortedWindows {
    /// The number of windows.
    pub(crate) fn len(&self) -> usize {
        self.extents.len()
    }

    /// The sort key of a window.
    pub(crate) fn name(&self, row: usize) -> Option<&[u8]> {
        (row < self.names.len()).then(|| self.names.value(row))
    }

    /// The bounds of a range of windows.
    pub(crate) fn bounds(&self, rows: Range<usize>) -> Option<PageBounds> {
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

    /// The statistics of a range of windows. Windows due before `closed` are closed.
    pub(crate) fn statistics(&self, rows: Range<usize>, closed: Time) -> WindowStatistics {
        let waiting = self.waiting.get(rows.clone()).unwrap_or_default();
        WindowStatistics {
            waits: waiting.iter().min().map_or(NEVER, |time| time.0),
            ..WindowStatistics::of(self.extents.get(rows).unwrap_or_default(), closed)
        }
    }
}
