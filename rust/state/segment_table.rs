//! The runs of each segment. A segment is a slice of time in which windows are due.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::page::{PageName, broken};
use super::run_writer::{RunWriter, Vacancy};
use super::sorted_windows::SortedWindows;
use super::stored_run::{ChangedPages, StoredRun, WindowStatistics};
use crate::core::error::Result;
use crate::core::time::Time;

/// The contents of the runs of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layout {
    /// Parts of sessions. A session may have more parts in other runs and segments. The oldest run
    /// comes first.
    ///
    /// ```text
    ///   segments   ── opened ──┼── 7 ─────────┼── 8 ─────────┼─▶ reach
    ///                final     │ run 0, run 1 │ run 0        │
    ///                          close time
    /// ```
    Parts,
    /// Whole windows. Each run has a range of keys, and runs are sorted by key.
    ///
    /// ```text
    ///   keys of a segment   ──┬─────────┬────────────────┬────────▶
    ///                         │ run 0   │ run 2          │ run 1
    /// ```
    Ranges,
}

/// Segments of equal length. The offset differs by shard, so that shards open segments at different
/// times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentGrid {
    pub width: i64,
    pub offset: i64,
}

impl SegmentGrid {
    /// The segment that contains a reach.
    pub(crate) fn of(&self, reach: Time) -> i64 {
        reach.0.saturating_add(self.offset).div_euclid(self.width)
    }

    /// The last reach in a segment.
    pub(crate) fn end(&self, segment: i64) -> Time {
        let next = segment.saturating_add(1).saturating_mul(self.width);
        Time(next.saturating_sub(1).saturating_sub(self.offset))
    }
}

/// The largest number of pages of a state. Their rows would have 256 GiB before compression.
const MOST_PAGES: u64 = 1 << 20;

/// The runs of each segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SegmentTable(BTreeMap<i64, Vec<StoredRun>>);

impl SegmentTable {
    /// Checks that the runs of each segment have distinct numbers and the order of their layout, and
    /// that the pages can be listed.
    pub(crate) fn check(&self, layout: Layout) -> Result<()> {
        let is_sorted = |runs: &Vec<StoredRun>| match layout {
            Layout::Parts => runs.is_sorted_by(|left, right| left.number < right.number),
            Layout::Ranges => runs.is_sorted_by(|left, right| left.from < right.from),
        };
        let is_whole = |runs: &Vec<StoredRun>| {
            let numbers: BTreeSet<u32> = runs.iter().map(|run| run.number).collect();
            numbers.len() == runs.len() && runs.iter().all(|run| run.pages > 0) && is_sorted(runs)
        };
        if !self.0.values().all(is_whole) {
            return Err(broken("the runs in its head contradict each other"));
        }
        let pages = self
            .runs()
            .map(|(_, run)| u64::from(run.pages) + u64::from(run.index));
        match pages.sum() {
            0..=MOST_PAGES => Ok(()),
            pages => Err(broken(format!(
                "its head lists {pages} pages, and a state has at most {MOST_PAGES}"
            ))),
        }
    }

    /// The runs of each segment.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (i64, &[StoredRun])> {
        let segments = self.0.iter();
        segments.map(|(&segment, runs)| (segment, runs.as_slice()))
    }

    /// All runs, with their segments.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (i64, &StoredRun)> {
        self.segments()
            .flat_map(|(segment, runs)| runs.iter().map(move |run| (segment, run)))
    }

    /// The runs of a segment.
    pub(crate) fn segment(&self, segment: i64) -> &[StoredRun] {
        self.0.get(&segment).map_or(&[], Vec::as_slice)
    }

    /// Whether there are no runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of open windows. For sessions stored in parts, the number of open parts.
    pub(crate) fn open(&self) -> u64 {
        let runs = self.0.values().flatten();
        runs.fold(0, |open, run| open.saturating_add(run.windows.open))
    }

    /// Updates the statistics of a run.
    pub(crate) fn set_statistics(&mut self, segment: i64, place: usize, windows: WindowStatistics) {
        let runs = self.0.get_mut(&segment);
        if let Some(run) = runs.and_then(|runs| runs.get_mut(place)) {
            run.windows = windows;
        }
    }

    /// Appends a run to a segment.
    pub(crate) fn push(&mut self, segment: i64, run: StoredRun) {
        self.0.entry(segment).or_default().push(run);
    }

    /// Removes consecutive runs of a segment, and their pages.
    pub(crate) fn remove(
        &mut self,
        segment: i64,
        places: Range<usize>,
        changed: &mut ChangedPages,
    ) {
        let Some(runs) = self.0.get_mut(&segment) else {
            return;
        };
        let removed: Vec<StoredRun> = runs.drain(places).collect();
        if runs.is_empty() {
            self.0.remove(&segment);
        }
        let names = removed.iter().flat_map(|run| run.all_names(segment));
        changed.extend(names.map(|name| (name, None)));
    }

    /// Removes all segments up to and including `last`, and their pages.
    pub(crate) fn remove_to(&mut self, last: i64, changed: &mut ChangedPages) {
        let later = last.checked_add(1).map(|first| self.0.split_off(&first));
        let removed = Self(std::mem::replace(&mut self.0, later.unwrap_or_default()));
        changed.extend(removed.all_names().map(|name| (name, None)));
    }

    /// The names of all pages.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = PageName> {
        self.runs()
            .flat_map(|(segment, run)| run.all_names(segment))
    }

    /// Rewrites the changed runs of a segment. `is_changed` has an entry per run. Consecutive
    /// changed runs form one range, which is divided again. `windows` returns all windows of such a
    /// range. Its arguments are the former places of the runs and the sort key at which the range
    /// begins.
    pub(crate) fn rewrite(
        &mut self,
        segment: i64,
        is_changed: &[bool],
        writer: &RunWriter<'_>,
        changed: &mut ChangedPages,
        mut windows: impl FnMut(Range<usize>, &[u8]) -> Result<Vec<SortedWindows>>,
    ) -> Result<()> {
        // In reverse order, so that earlier places still match `is_changed`.
        for group in groups(is_changed).into_iter().rev() {
            let first = self.segment(segment).get(group.start);
            let from = first.filter(|_| group.start > 0); // the first run has all lesser keys
            let from = from.map_or_else(Vec::new, |run| run.from.clone());
            let place = group.start;
            self.remove(segment, group.clone(), changed);
            let parts = windows(group, &from)?;
            if parts.is_empty() {
                continue;
            }
            let taken = self.segment(segment).iter().map(|run| run.number);
            let vacancy = Vacancy {
                segment,
                from,
                taken: taken.collect(),
            };
            let runs = writer.write_ranges(vacancy, &parts, changed)?;
            let all = self.0.entry(segment).or_default();
            all.splice(place..place, runs);
        }
        Ok(())
    }
}

/// Groups consecutive changed runs. Without any run, returns one empty group: the place for new
/// runs.
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

/// The place of the run to which a sort key belongs.
pub(crate) fn place(runs: &[StoredRun], key: &[u8]) -> usize {
    let later = runs.partition_point(|run| run.from.as_slice() <= key);
    later.saturating_sub(1)
}
