//! An operator's state as pages, which of them have changed, and back.

use std::collections::BTreeSet;

use super::state_store::StateStore;
use super::window_pages;
use crate::arrow::format::head::{self, Head, PageCounts};
use crate::arrow::format::page::{self, Label, PageId, PageKind, PageName, broken};
use crate::arrow::plan::fingerprint::Fingerprint;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::Spec;
use crate::error::Result;
use crate::store::SegmentId;
use crate::time::Time;

/// A page by name; no bytes where it is no more.
pub type ChangedPage = (String, Option<Vec<u8>>);

/// What is known of the pages that were last written or read.
pub(crate) struct Snapshot {
    fingerprint: Fingerprint,
    /// How many pages each segment has.
    written: PageCounts,
    /// Segments whose pages are of another length of segments than this operator's.
    stale: BTreeSet<i64>,
    /// Pages of the indexes of runs, which the operator does not write.
    indexes: Vec<PageName>,
}

impl Snapshot {
    /// No pages yet.
    pub fn new(spec: &Spec, query: &Query) -> Result<Self> {
        Ok(Self {
            fingerprint: Fingerprint::new(spec, query)?,
            written: PageCounts::new(),
            stale: BTreeSet::new(),
            indexes: Vec::new(),
        })
    }

    /// All pages of a state.
    pub fn pages(&self, state: &StateStore) -> Result<Vec<Vec<u8>>> {
        let mut pages = Vec::new();
        let mut written = PageCounts::new();
        for id in state.windows.segments() {
            let segment = window_pages::write(state, &self.fingerprint.hash, id)?;
            if !segment.is_empty() {
                written.insert(id.0, vec![segment.len() as u32]);
            }
            pages.extend(segment.into_iter().map(|page| page.bytes));
        }
        pages.insert(0, self.head(state, written)?);
        Ok(pages)
    }

    /// The pages that have changed since they were last written or read. Hidden windows are dropped
    /// first, so that no page still has them that a snapshot has not (rules 1.7).
    pub fn changed_pages(&mut self, state: &mut StateStore) -> Result<Vec<ChangedPage>> {
        let (windows, mut states) = state.at_rest();
        windows.drop_hidden(&mut states);
        let stale = self.stale.iter().copied().map(SegmentId);
        let ids: BTreeSet<SegmentId> = state.windows.changed().into_iter().chain(stale).collect();
        let mut changed = Vec::new();
        let mut written = self.written.clone();
        for id in ids {
            let pages = window_pages::write(state, &self.fingerprint.hash, id)?;
            let before = written.remove(&id.0).unwrap_or_default();
            if !pages.is_empty() {
                written.insert(id.0, vec![pages.len() as u32]);
            }
            let names: BTreeSet<String> = pages.iter().map(|page| page.id.to_string()).collect();
            let page = |page: page::Page| (page.id.to_string(), Some(page.bytes));
            changed.extend(pages.into_iter().map(page));
            let before = (0_u32..).zip(before).flat_map(|(run, count)| {
                (0..count).map(move |number| {
                    PageId {
                        segment: id.0,
                        run,
                        number,
                    }
                    .to_string()
                })
            });
            changed.extend(
                before
                    .filter(|name| !names.contains(name))
                    .map(|name| (name, None)),
            );
        }
        let indexes = std::mem::take(&mut self.indexes).into_iter();
        changed.extend(indexes.map(|name| (name.to_string(), None)));
        changed.push((head::NAME.into(), Some(self.head(state, written.clone())?)));
        self.written = written;
        self.stale.clear();
        state.windows.mark_clean();
        Ok(changed)
    }

    /// Reads saved pages, in any order, into the state of an operator that has seen no record.
    /// `is_part`: pages of windows may be missing.
    pub fn restore(
        &mut self,
        state: &mut StateStore,
        pages: &[&[u8]],
        is_part: bool,
    ) -> Result<()> {
        let labels = pages
            .iter()
            .map(|bytes| Label::read(bytes))
            .collect::<Result<Vec<_>>>()?;
        let (heads, windows): (Vec<_>, Vec<_>) = labels
            .iter()
            .zip(pages)
            .partition(|(label, _)| label.form == PageKind::Head);
        let [(label, bytes)] = heads.as_slice() else {
            return Err(broken("a state has one head"));
        };
        let (head, progress) = Head::open(label, bytes, &self.fingerprint)?;
        let (indexes, windows): (Vec<_>, Vec<_>) = windows
            .into_iter()
            .partition(|(label, _)| label.form == PageKind::Index);
        if !is_part {
            head.check_complete(windows.iter().map(|(label, _)| label.id()))?;
        }
        let indexes = indexes.iter().map(|(label, _)| label.name());
        self.indexes = indexes.collect::<Result<_>>()?;
        state.seq_nos = head.seq_nos;
        state.null_values = head.counters.null_values;
        state.updates = head.counters.updates;
        state
            .windows
            .resume(progress, Time(head.closed), head.counters);
        for (left, (label, bytes)) in (1..=windows.len()).rev().zip(windows) {
            if label.fingerprint != self.fingerprint.hash {
                return Err(broken(
                    "a page belongs to another specification than the head",
                ));
            }
            let rows = page::read(bytes)?.1;
            state.windows.reserve(rows.num_rows().saturating_mul(left)); // pages are of about one length
            if head.runs.is_empty() {
                window_pages::read(state, label, &rows)?;
            } else {
                window_pages::join(state, label, &rows)?;
            }
        }
        let is_own = head.runs.is_empty() && head.ranges.is_empty();
        if state.windows.segment_width() == head.width && is_own {
            state.windows.mark_clean(); // nothing differs from the saved state
        } else {
            self.stale = head.pages.keys().copied().collect();
        }
        self.written = head.pages;
        Ok(())
    }

    fn head(&self, state: &StateStore, pages: PageCounts) -> Result<Vec<u8>> {
        let progress = state.windows.time().progress();
        let (closed, width) = (state.windows.closed(), state.windows.segment_width());
        Head::new(
            progress,
            closed,
            width,
            state.seq_nos,
            state.counters(),
            pages,
        )
        .write(progress, &self.fingerprint)
    }
}
