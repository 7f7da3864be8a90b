//! The runs of each segment, and which of their pages are to be read.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::state::head::{Head, PageCounts, RunBound, RunBounds};
use crate::state::page::{PageId, PageName};

/// A run that a state of whole sessions has: nothing is known of it.
const UNKNOWN: RunBound = RunBound {
    first: i64::MIN,
    rows: u64::MAX,
    index: 0,
};

/// A run: its pages, and what is known without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredRun {
    /// How many pages it has.
    pub pages: u32,
    /// What is in it.
    pub bound: RunBound,
}

/// The runs of each segment, the oldest first.
#[derive(Default)]
pub(super) struct RunTable(BTreeMap<i64, Vec<StoredRun>>);

impl RunTable {
    /// The runs that a head names.
    pub fn of(head: &Head) -> Self {
        let runs = head.pages.iter().map(|(&segment, pages)| {
            let known = head.runs.get(&segment).map_or(&[][..], Vec::as_slice);
            let bounds = known.iter().copied().chain(std::iter::repeat(UNKNOWN));
            let runs = pages.iter().zip(bounds);
            let runs = runs.map(|(&pages, bound)| StoredRun { pages, bound });
            (segment, runs.collect())
        });
        Self(runs.collect())
    }

    /// How many pages each run has, as a head says it.
    pub fn pages(&self) -> PageCounts {
        let pages = |runs: &Vec<StoredRun>| runs.iter().map(|run| run.pages).collect();
        let segments = self.0.iter();
        segments.map(|(&id, runs)| (id, pages(runs))).collect()
    }

    /// What is known of each run, as a head says it.
    pub fn bounds(&self) -> RunBounds {
        let bounds = |runs: &Vec<StoredRun>| runs.iter().map(|run| run.bound).collect();
        let segments = self.0.iter();
        segments.map(|(&id, runs)| (id, bounds(runs))).collect()
    }

    /// How many sessions there are, some of them in parts.
    pub fn rows(&self) -> u64 {
        let runs = self.0.values().flatten();
        runs.fold(0, |rows, run| rows.saturating_add(run.bound.rows))
    }

    /// The pages of the segments up to one.
    pub fn opened(&self, last: i64) -> impl Iterator<Item = PageName> {
        let segments = self.0.range(..=last);
        segments.flat_map(|(&id, runs)| pages(id, runs, 0..runs.len()))
    }

    /// The indexes of the runs of later segments in which something starts up to a time.
    pub fn indexes(&self, last: i64, until: i64) -> impl Iterator<Item = PageName> {
        let segments = self.0.range(last.saturating_add(1)..);
        let runs = segments.flat_map(|(&id, runs)| (0..).zip(runs).map(move |run| (id, run)));
        let reached = runs.filter(move |(_, (_, run))| run.bound.first <= until);
        reached.flat_map(|(segment, (run, StoredRun { pages, bound }))| {
            let is_index = bound.index > 0;
            let count = if is_index { bound.index } else { *pages };
            names(segment, run, count, is_index)
        })
    }

    /// Of each later segment of more than `most` runs, those that are to be made one: the youngest, and
    /// with them each older one that is not longer than all of these together. So are runs of which
    /// nothing is known.
    pub fn to_compact(&self, last: i64, most: usize) -> Vec<(i64, usize)> {
        let segments = self.0.range(last.saturating_add(1)..);
        let first = |runs: &Vec<StoredRun>| {
            let unknown = runs.iter().position(|run| run.bound == UNKNOWN);
            unknown.or_else(|| (runs.len() > most.max(1)).then(|| youngest(runs)))
        };
        segments
            .filter_map(|(&segment, runs)| Some((segment, first(runs)?)))
            .collect()
    }

    /// The pages of the runs of a segment from one run on.
    pub fn pages_from(&self, segment: i64, from: usize) -> impl Iterator<Item = PageName> {
        let runs = self.0.get(&segment).map_or(&[][..], Vec::as_slice);
        pages(segment, runs, from..runs.len())
    }

    /// How many runs a segment has: the number of the next one.
    pub fn runs(&self, segment: i64) -> usize {
        self.0.get(&segment).map_or(0, Vec::len)
    }

    /// Adds a run to a segment.
    pub fn push(&mut self, segment: i64, run: StoredRun) {
        self.0.entry(segment).or_default().push(run);
    }

    /// Removes the segments up to one, and gives the names of their pages and indexes.
    pub fn remove_opened(&mut self, last: i64) -> Vec<PageName> {
        let later = last.checked_add(1).map(|first| self.0.split_off(&first));
        let opened = std::mem::replace(&mut self.0, later.unwrap_or_default());
        let runs = opened.iter();
        runs.flat_map(|(&id, runs)| all_pages(id, runs, 0))
            .collect()
    }

    /// Removes the runs of a segment from one run on, and gives the names of their pages and indexes.
    pub fn remove_from(&mut self, segment: i64, from: usize) -> Vec<PageName> {
        let Some(mut runs) = self.0.remove(&segment) else {
            return Vec::new();
        };
        let removed = runs.split_off(from.min(runs.len()));
        if !runs.is_empty() {
            self.0.insert(segment, runs);
        }
        all_pages(segment, &removed, from).collect()
    }
}

/// The first of the youngest runs: two at least, and each older one that is not longer than they are
/// together.
fn youngest(runs: &[StoredRun]) -> usize {
    let mut from = runs.len().saturating_sub(1);
    let mut together = 0_u64;
    for (position, run) in runs.iter().enumerate().rev() {
        if position + 2 < runs.len() && run.bound.rows > together {
            break;
        }
        from = position;
        together = together.saturating_add(run.bound.rows);
    }
    from
}

/// The pages of some runs of a segment.
fn pages(segment: i64, runs: &[StoredRun], range: Range<usize>) -> impl Iterator<Item = PageName> {
    let from = range.start as u32;
    let runs = (from..).zip(runs.get(range).unwrap_or_default());
    runs.flat_map(move |(number, run)| names(segment, number, run.pages, false))
}

/// The pages and indexes of runs of a segment, numbered from `from` on.
fn all_pages(segment: i64, runs: &[StoredRun], from: usize) -> impl Iterator<Item = PageName> {
    let runs = (from as u32..).zip(runs);
    runs.flat_map(move |(number, run)| {
        let pages = names(segment, number, run.pages, false);
        pages.chain(names(segment, number, run.bound.index, true))
    })
}

fn names(segment: i64, run: u32, count: u32, is_index: bool) -> impl Iterator<Item = PageName> {
    (0..count).map(move |number| PageName {
        id: PageId {
            segment,
            run,
            number,
        },
        is_index,
    })
}
