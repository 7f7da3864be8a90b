//! Sorted windows of a segment as columns, before they are written as pages.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeBinaryArray, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::page::PageBounds;
use super::page_writer::PageColumns;
use super::stored_run::{NEVER, WindowStatistics};
use super::stored_windows::StoredWindows;
use crate::core::error::Result;
use crate::core::sort::{pick, prefix};
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::keys::sort_key::SortKeys;

/// Parts of fewer bytes fit a batch together.
const LONGEST: usize = i32::MAX as usize;

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
    /// The windows of a page, which are sorted. They have no pace.
    pub(crate) fn of_page(sort_keys: &SortKeys, page: &StoredWindows) -> Result<Self> {
        let names = sort_keys.of(page.keys())?;
        let names = (0..page.len()).map(|row| names.get(row).unwrap_or_default());
        Ok(Self {
            names: LargeBinaryArray::from_iter_values(names),
            extents: page.extents()?,
            waiting: Vec::new(),
            columns: page.columns(),
        })
    }

    /// Merges parts without a pace. Parts of other columns, or that are too long for a batch, stay
    /// as they are.
    pub(crate) fn merge(parts: Vec<Self>) -> Result<Vec<Self>> {
        let types = |part: &Self| {
            let each = part.columns.iter();
            each.map(|(name, array)| (name.clone(), array.data_type().clone()))
                .collect::<Vec<_>>()
        };
        let [first, others @ ..] = parts.as_slice() else {
            return Ok(parts);
        };
        let all = parts.iter().flat_map(|part| &part.columns);
        let bytes: usize = all.map(|(_, array)| array.get_array_memory_size()).sum();
        let own = types(first);
        let fit = bytes < LONGEST && others.iter().all(|part| types(part) == own);
        if others.is_empty() || !fit || !first.waiting.is_empty() {
            return Ok(parts);
        }
        let names: Vec<&dyn Array> = parts.iter().map(|part| &part.names as _).collect();
        let names = concat(&names)?;
        let names = names.as_binary::<i64>();
        let extents: Vec<Extent> = parts
            .iter()
            .flat_map(|part| &part.extents)
            .copied()
            .collect();
        let rows = order(|row| Some(names.value(row as usize)), &extents);
        let mut columns = PageColumns::new();
        for (nth, (name, _)) in first.columns.iter().enumerate() {
            let arrays = parts.iter().filter_map(|part| part.columns.get(nth));
            let arrays: Vec<&dyn Array> = arrays.map(|(_, array)| array.as_ref()).collect();
            columns.push((name.clone(), take(&concat(&arrays)?, &rows, None)?));
        }
        Ok(vec![Self {
            names: take(names, &rows, None)?.as_binary().clone(),
            extents: pick(&extents, rows.values())?,
            waiting: Vec::new(),
            columns,
        }])
    }

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

/// The windows sorted by key, end and start. `name` returns the sort key of a window.
pub(crate) fn order<'n>(name: impl Fn(u32) -> Option<&'n [u8]>, extents: &[Extent]) -> UInt32Array {
    let rows = 0..extents.len() as u32;
    let prefix_of = |row| prefix(name(row).unwrap_or_default());
    let mut order: Vec<(u128, u32)> = rows.map(|row| (prefix_of(row), row)).collect();
    // A stable sort is fast on sorted stretches, and windows from pages come sorted.
    order.sort_by(|&(left, a), &(right, b)| {
        let bounds = |row: u32| {
            let extent = extents.get(row as usize)?;
            Some((extent.end, extent.start))
        };
        left.cmp(&right)
            .then_with(|| name(a).cmp(&name(b)))
            .then_with(|| bounds(a).cmp(&bounds(b)))
    });
    order.into_iter().map(|(_, row)| row).collect()
}
