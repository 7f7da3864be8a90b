//! Runs of a range of keys, with their pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::page::{NamedPage, PageId, PageName};
use super::run_range::{RunRange, WindowStatistics};

/// The pages that a micro-batch changes: without bytes where a page is no more.
pub(crate) type ChangedPages = BTreeMap<PageName, Option<Vec<u8>>>;

/// A range, and the number of pages of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRange {
    pub range: RunRange,
    pub pages: u32,
}

impl StoredRange {
    /// A run without pages yet.
    pub fn new(run: u32, from: Vec<u8>) -> Self {
        let windows = WindowStatistics::NONE;
        Self {
            range: RunRange { run, from, windows },
            pages: 0,
        }
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

/// Runs that were written.
#[derive(Default)]
pub(crate) struct WrittenRanges {
    pub ranges: Vec<StoredRange>,
    /// Which of the windows each of them has.
    pub rows: Vec<Range<usize>>,
    pub pages: Vec<NamedPage>,
}

/// A place for runs in a segment.
pub(crate) struct Vacancy {
    pub segment: i64,
    /// Where the first of them begins.
    pub from: Vec<u8>,
    /// The numbers of the other runs.
    pub taken: BTreeSet<u32>,
}

impl Vacancy {
    /// The numbers that runs may have, from the least on.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..).filter(|number| !self.taken.contains(number))
    }
}
