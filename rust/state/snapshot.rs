//! The stored pages of an operator: its runs, and which of them were read.

use std::collections::BTreeSet;

use super::head::{self, Clock, Head};
use super::page::{ChangedPage, PageId, broken};
use super::segment_table::{Layout, SegmentTable};
use super::stored_run::ChangedPages;
use crate::core::error::{Error, Result};
use crate::plan::state_query::Fingerprint;

/// A micro-batch changes a run without reading it first.
pub(crate) const UNREAD: Error = Error::Internal("an unread run changes");

/// The runs of a state, without the rows of their pages.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub fingerprint: Fingerprint,
    layout: Layout,
    /// Length of a segment.
    width: i64,
    /// The runs of each segment, except runs with another layout or segment length.
    pub table: SegmentTable,
    /// Runs with another layout or segment length. All their pages are read at once and rewritten.
    pub foreign: SegmentTable,
    /// The unread runs, as segment and run number.
    unread: BTreeSet<(i64, u32)>,
}

impl Snapshot {
    /// No pages yet.
    pub(crate) fn new(fingerprint: Fingerprint, layout: Layout, width: i64) -> Self {
        Self {
            fingerprint,
            layout,
            width,
            table: SegmentTable::default(),
            foreign: SegmentTable::default(),
            unread: BTreeSet::new(),
        }
    }

    /// Opens the head of a saved state. Returns its layout and progress.
    pub(crate) fn open(&mut self, head: &[u8]) -> Result<(Layout, Clock)> {
        let (head, clock) = Head::open(head, &self.fingerprint)?;
        let is_own = head.layout == self.layout && head.width == self.width;
        if is_own {
            self.table = head.segments;
        } else {
            self.foreign = head.segments;
        }
        Ok((head.layout, clock))
    }

    /// Marks all pages as foreign: they are read at once and rewritten.
    pub(crate) fn read_all(&mut self) {
        if self.foreign.is_empty() {
            self.foreign = std::mem::take(&mut self.table);
        }
    }

    /// The stored runs, of this or of another layout.
    pub(crate) fn stored(&self) -> &SegmentTable {
        if self.foreign.is_empty() {
            &self.table
        } else {
            &self.foreign
        }
    }

    /// Records which pages of windows were read.
    pub(crate) fn read(&mut self, pages: &BTreeSet<PageId>) -> Result<()> {
        let runs = self.stored().runs();
        self.unread = runs.map(|(segment, run)| (segment, run.number)).collect();
        self.read_more(pages)
    }

    /// Records which pages of unread runs were read.
    pub(crate) fn read_more(&mut self, pages: &BTreeSet<PageId>) -> Result<()> {
        let (mut known, mut unread) = (0, BTreeSet::new());
        let runs = self.stored().runs();
        for (segment, run) in runs.filter(|&(segment, run)| self.is_unread(segment, run.number)) {
            let names = run.names(segment);
            let read = names.filter(|name| pages.contains(&name.id)).count();
            if read == 0 {
                unread.insert((segment, run.number));
            } else if read < run.pages as usize {
                return Err(broken("pages of a run are missing"));
            }
            known += read;
        }
        if known < pages.len() {
            return Err(broken("some pages are not of this state"));
        }
        self.unread = unread;
        Ok(())
    }

    /// The number of open windows in unread runs.
    pub(crate) fn unread(&self) -> u64 {
        let runs = self.stored().runs();
        let unread = runs.filter(|&(segment, run)| self.is_unread(segment, run.number));
        unread.fold(0, |open, (_, run)| open.saturating_add(run.windows.open))
    }

    /// Whether a run was not read.
    pub(crate) fn is_unread(&self, segment: i64, run: u32) -> bool {
        self.unread.contains(&(segment, run))
    }

    /// Whether each run of a segment was read.
    pub(crate) fn is_read(&self, segment: i64) -> Vec<bool> {
        let runs = self.table.segment(segment).iter();
        runs.map(|run| !self.is_unread(segment, run.number))
            .collect()
    }

    /// Checks that every changed run was read. `is_changed` has an entry per run.
    pub(crate) fn check_read(&self, segment: i64, is_changed: &[bool]) -> Result<()> {
        let is_read = self.is_read(segment);
        let mut runs = is_read.iter().zip(is_changed);
        if runs.any(|(&is_read, &is_changed)| is_changed && !is_read) {
            return Err(UNREAD);
        }
        Ok(())
    }

    /// Returns the changed pages by name, and the new head.
    pub(crate) fn finish(
        &mut self,
        mut changed: ChangedPages,
        clock: &Clock,
    ) -> Result<Vec<ChangedPage>> {
        for name in std::mem::take(&mut self.foreign).all_names() {
            changed.entry(name).or_insert(None);
        }
        let changed = changed.into_iter();
        let pages = changed.map(|(name, page)| (name.to_string(), page));
        let head = (head::NAME.into(), Some(self.head(clock)?));
        Ok(pages.chain([head]).collect())
    }

    /// Writes the head page.
    pub(crate) fn head(&self, clock: &Clock) -> Result<Vec<u8>> {
        Head::write(
            clock,
            self.width,
            self.layout,
            &self.table,
            &self.fingerprint,
        )
    }

    /// The ids of the pages of windows, in order.
    pub(crate) fn ids(&self) -> BTreeSet<PageId> {
        let runs = self.stored().runs();
        let names = runs.flat_map(|(segment, run)| run.names(segment));
        names.map(|name| name.id).collect()
    }
}
