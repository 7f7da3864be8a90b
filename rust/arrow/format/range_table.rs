//! Segments of which each run has a range of keys, and the runs that a micro-batch touches.
//!
//! ```text
//!   keys of a segment   ──┬─────────┬────────────────┬────────▶
//!                         │ run 0   │ run 2          │ run 1
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::head::{Head, PageCounts};
use super::page::{PageId, PageName, broken};
use super::run_range::{RunRange, RunRanges};
use crate::error::Result;
use crate::time::Time;

/// A range, and the number of pages of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRange {
    pub range: RunRange,
    pub pages: u32,
}

impl StoredRange {
    /// All windows of a segment, in one run of which nothing else is known.
    fn unknown(run: u32, pages: u32) -> Self {
        let range = RunRange {
            run,
            from: Vec::new(),
            open: 0,
            due: i64::MIN,
        };
        Self { range, pages }
    }

    /// Whether how many windows it has is still to be found out.
    pub fn is_unknown(&self) -> bool {
        self.range.due == i64::MIN
    }

    /// The names of its pages.
    pub fn names(&self, segment: i64) -> impl Iterator<Item = PageName> {
        let run = self.range.run;
        (0..self.pages).map(move |number| PageName {
            id: PageId {
                segment,
                run,
                number,
            },
            is_index: false,
        })
    }
}

/// The runs of each segment, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct RangeTable(BTreeMap<i64, Vec<StoredRange>>);

impl RangeTable {
    /// The runs that a head names. The run of a segment of which it says no more has all keys.
    ///
    /// # Errors
    ///
    /// [`crate::error::Error::Format`] for a head in which ranges and runs do not go together.
    pub fn of(head: &Head) -> Result<Self> {
        let wrong = || broken("the ranges of keys and the runs of its head do not go together");
        let known: BTreeSet<&i64> = head.ranges.keys().collect();
        if !known.into_iter().all(|id| head.pages.contains_key(id)) {
            return Err(wrong());
        }
        let mut table = BTreeMap::new();
        for (&segment, counts) in &head.pages {
            let runs = (0..).zip(counts.iter().copied());
            let mut pages: BTreeMap<u32, u32> = runs.filter(|&(_, count)| count > 0).collect();
            let mut ranges = Vec::new();
            match head.ranges.get(&segment) {
                Some(known) => {
                    for range in known {
                        let pages = pages.remove(&range.run).ok_or_else(wrong)?;
                        let range = range.clone();
                        ranges.push(StoredRange { range, pages });
                    }
                }
                None => ranges.extend(
                    pages
                        .pop_first()
                        .map(|(run, pages)| StoredRange::unknown(run, pages)),
                ),
            }
            let is_sorted = ranges.is_sorted_by(|left, right| left.range.from < right.range.from);
            if !pages.is_empty() || !is_sorted {
                return Err(wrong());
            }
            table.insert(segment, ranges);
        }
        Ok(Self(table))
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

    /// How many windows are open.
    pub fn open(&self) -> u64 {
        let ranges = self.0.values().flatten();
        ranges.fold(0, |open, stored| open.saturating_add(stored.range.open))
    }

    /// The segments of which nothing is known but their pages.
    pub fn unknown(&self) -> impl Iterator<Item = i64> {
        let is_unknown = |ranges: &Vec<StoredRange>| ranges.iter().any(StoredRange::is_unknown);
        let segments = self.0.iter();
        segments.filter_map(move |(&segment, ranges)| is_unknown(ranges).then_some(segment))
    }

    /// The runs of a segment.
    pub fn segment(&self, segment: i64) -> &[StoredRange] {
        self.0.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Removes some runs that follow each other; gives the names of their pages.
    pub fn remove(&mut self, segment: i64, places: Range<usize>) -> Vec<PageName> {
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
    pub fn insert(&mut self, segment: i64, place: usize, ranges: Vec<StoredRange>) {
        if !ranges.is_empty() {
            let all = self.0.entry(segment).or_default();
            all.splice(place..place, ranges);
        }
    }

    /// Numbers that no run of a segment has, from the least on.
    pub fn numbers(&self, segment: i64) -> impl Iterator<Item = u32> {
        let runs = self.segment(segment).iter();
        let taken: BTreeSet<u32> = runs.map(|stored| stored.range.run).collect();
        (0..).filter(move |number| !taken.contains(number))
    }
}

/// The place of the run that has the windows of a sort key, or gets them.
pub(crate) fn place(ranges: &[StoredRange], key: &[u8]) -> usize {
    let later = ranges.partition_point(|stored| stored.range.from.as_slice() <= key);
    later.saturating_sub(1)
}

/// The runs that a micro-batch touches.
pub(crate) struct Touched<'a> {
    segments: Vec<(i64, &'a [StoredRange], Vec<bool>)>,
    /// How many are not touched.
    others: usize,
}

impl<'a> Touched<'a> {
    /// Those in which something is due before a time.
    pub fn new(table: &'a RangeTable, close: Time) -> Self {
        let due = |stored: &StoredRange| stored.range.due < close.0;
        let segments = table.0.iter().map(|(&segment, ranges)| {
            let touched = ranges.iter().map(due).collect();
            (segment, ranges.as_slice(), touched)
        });
        let segments: Vec<(i64, &[StoredRange], Vec<bool>)> = segments.collect();
        let touched = segments.iter().flat_map(|(.., touched)| touched);
        Self {
            others: touched.filter(|touched| !**touched).count(),
            segments,
        }
    }

    /// Whether all of them are touched.
    pub fn are_all(&self) -> bool {
        self.others == 0
    }

    /// Adds those that have the windows of a sort key, or get them.
    pub fn add(&mut self, key: &[u8]) {
        for (_, ranges, touched) in &mut self.segments {
            if let Some(touched) = touched.get_mut(place(ranges, key)) {
                self.others -= usize::from(!*touched);
                *touched = true;
            }
        }
    }

    /// The names of their pages.
    pub fn names(&self) -> BTreeSet<PageName> {
        let segments = self.segments.iter();
        let stored = segments.flat_map(|(segment, ranges, touched)| {
            let stored = ranges.iter().zip(touched);
            stored.map(move |(stored, touched)| (*segment, stored, *touched))
        });
        let touched = stored.filter(|(.., touched)| *touched);
        touched
            .flat_map(|(segment, stored, _)| stored.names(segment))
            .collect()
    }
}
