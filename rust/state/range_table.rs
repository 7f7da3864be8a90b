//! Segments of which each run has a range of keys.
//!
//! ```text
//!   keys of a segment   ──┬─────────┬────────────────┬────────▶
//!                         │ run 0   │ run 2          │ run 1
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::head::{Head, PageCounts};
use super::page::{PageName, broken};
use super::run_range::{RunRanges, WindowStatistics};
use super::stored_range::{ChangedPages, StoredRange, Vacancy, WrittenRanges};
use crate::core::error::{Error, Result};

/// A micro-batch has changed a run that it has not read.
pub(crate) const UNREAD: Error = Error::Internal("a run that changes was read");

/// The runs of each segment, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct RangeTable(BTreeMap<i64, Vec<StoredRange>>);

impl RangeTable {
    /// The runs that a head names.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for a head in which ranges and runs do not go together.
    pub fn of(head: &Head) -> Result<Self> {
        let wrong = || broken("the ranges of keys and the runs of its head do not go together");
        let mut rest = head.pages.clone();
        let mut table = BTreeMap::new();
        for (&segment, ranges) in &head.ranges {
            let counts = rest.remove(&segment).ok_or_else(wrong)?;
            let runs = (0..).zip(counts).filter(|&(_, pages)| pages > 0);
            let mut runs: BTreeMap<u32, u32> = runs.collect();
            let stored = ranges.iter().map(|range| {
                let pages = runs.remove(&range.run)?;
                let range = range.clone();
                Some(StoredRange { range, pages })
            });
            let stored: Vec<StoredRange> = stored.collect::<Option<_>>().ok_or_else(wrong)?;
            let is_sorted = stored.is_sorted_by(|left, right| left.range.from < right.range.from);
            if !runs.is_empty() || !is_sorted {
                return Err(wrong());
            }
            table.insert(segment, stored);
        }
        if rest.is_empty() {
            Ok(Self(table))
        } else {
            Err(wrong())
        }
    }

    /// How many pages each run has, as a head says it.
    pub fn pages(&self) -> PageCounts {
        let segments = self.0.iter().map(|(&segment, ranges)| {
            let last = ranges.iter().map(|stored| stored.range.run).max();
            let mut pages = vec![0; last.map_or(0, |last| last as usize + 1)];
            for stored in ranges {
                if let Some(pages) = pages.get_mut(stored.range.run as usize) {
                    *pages = stored.pages;
                }
            }
            (segment, pages)
        });
        segments.collect()
    }

    /// The range of each run, as a head says it.
    pub fn ranges(&self) -> RunRanges {
        let segments = self.0.iter().map(|(&segment, stored)| {
            let ranges = stored.iter().map(|own| own.range.clone());
            (segment, ranges.collect())
        });
        segments.collect()
    }

    /// The runs of each segment.
    pub fn segments(&self) -> impl Iterator<Item = (i64, &[StoredRange])> {
        let segments = self.0.iter();
        segments.map(|(&segment, ranges)| (segment, ranges.as_slice()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many windows are open.
    pub fn open(&self) -> u64 {
        let ranges = self.0.values().flatten();
        ranges.fold(0, |open, stored| {
            open.saturating_add(stored.range.windows.open)
        })
    }

    /// Says anew what is in a run.
    pub fn set_statistics(&mut self, segment: i64, place: usize, windows: WindowStatistics) {
        let ranges = self.0.get_mut(&segment);
        if let Some(stored) = ranges.and_then(|ranges| ranges.get_mut(place)) {
            stored.range.windows = windows;
        }
    }

    /// Writes anew the runs of a segment that have changed, as `is_changed` says of each. Those that
    /// follow each other are one range, which `write` divides anew: it gets the places that they had,
    /// the last ones first, so that the places before them are still those of `is_changed`.
    ///
    /// # Errors
    ///
    /// What `write` returns.
    pub fn rewrite(
        &mut self,
        segment: i64,
        is_changed: &[bool],
        changed: &mut ChangedPages,
        mut write: impl FnMut(Range<usize>, &Vacancy) -> Result<WrittenRanges>,
    ) -> Result<()> {
        for group in groups(is_changed).into_iter().rev() {
            let first = self.segment(segment).get(group.start);
            let from = first.filter(|_| group.start > 0); // the first run has all lesser keys, too
            let from = from.map_or_else(Vec::new, |stored| stored.range.from.clone());
            let place = group.start;
            let removed = self.remove(segment, group.clone()).into_iter();
            changed.extend(removed.map(|name| (name, None)));
            let runs = self.segment(segment).iter();
            let vacancy = Vacancy {
                segment,
                from,
                taken: runs.map(|stored| stored.range.run).collect(),
            };
            let written = write(group, &vacancy)?;
            self.insert(segment, place, written.ranges);
            changed.extend(
                written
                    .pages
                    .into_iter()
                    .map(|(name, page)| (name, Some(page))),
            );
        }
        Ok(())
    }

    /// The runs of a segment.
    pub fn segment(&self, segment: i64) -> &[StoredRange] {
        self.0.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Removes some runs that follow each other; gives the names of their pages.
    fn remove(&mut self, segment: i64, places: Range<usize>) -> Vec<PageName> {
        let Some(ranges) = self.0.get_mut(&segment) else {
            return Vec::new();
        };
        let removed: Vec<StoredRange> = ranges.drain(places).collect();
        if ranges.is_empty() {
            self.0.remove(&segment);
        }
        let removed = removed.iter();
        removed.flat_map(|stored| stored.names(segment)).collect()
    }

    /// Inserts runs at a place of a segment.
    fn insert(&mut self, segment: i64, place: usize, ranges: Vec<StoredRange>) {
        if !ranges.is_empty() {
            let all = self.0.entry(segment).or_default();
            all.splice(place..place, ranges);
        }
    }
}

/// The runs that have changed, those that follow each other together; of no runs one place for new
/// ones.
fn groups(is_changed: &[bool]) -> Vec<Range<usize>> {
    if is_changed.is_empty() {
        return std::iter::once(0..0).collect();
    }
    let mut end = 0;
    let groups = is_changed
        .chunk_by(|left, right| left == right)
        .map(|group| {
            let start = end;
            end += group.len();
            (group.first() == Some(&true)).then_some(start..end)
        });
    groups.flatten().collect()
}

/// The place of the run that has the windows of a sort key, or gets them.
pub(crate) fn place(ranges: &[StoredRange], key: &[u8]) -> usize {
    let later = ranges.partition_point(|stored| stored.range.from.as_slice() <= key);
    later.saturating_sub(1)
}
