//! An operator's state as pages, which of them have changed, and back.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;

use super::saved_runs::SavedRuns;
use super::state_store::StateStore;
use super::window_pages;
use crate::core::error::Result;
use crate::core::operator::stream_time::Progress;
use crate::core::time::Time;
use crate::plan::fingerprint::Fingerprint;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::state::head::{self, Head};
use crate::state::page::{self, Label, PageId, PageKind, PageName, broken};
use crate::state::range_table::RangeTable;
use crate::state::source_time::SourceTime;
use crate::state::touched::Touched;

/// Rows whose sort keys are made at once.
const KEYS: usize = 1 << 12;

/// A page by name; no bytes where it is no more.
pub type ChangedPage = (String, Option<Vec<u8>>);

/// How much of a saved state an operator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatePart {
    /// All of it.
    Whole,
    /// All pages of some runs: what a micro-batch touches.
    Runs,
    /// The same after this micro-batch.
    Changed,
    /// Some pages, to be looked at.
    Pages,
}

/// What is known of the pages that were last written or read.
pub(crate) struct Snapshot {
    fingerprint: Fingerprint,
    runs: SavedRuns,
    /// Pages that the operator does not write: of runs in parts, or of another length of segments.
    stale: Vec<PageName>,
}

impl Snapshot {
    /// No pages yet.
    pub fn new(spec: &Spec, query: &Query) -> Result<Self> {
        Ok(Self {
            fingerprint: Fingerprint::new(spec, query)?,
            runs: SavedRuns::default(),
            stale: Vec::new(),
        })
    }

    /// All pages of a state.
    pub fn pages(&self, state: &StateStore) -> Result<Vec<Vec<u8>>> {
        let mut runs = SavedRuns::default();
        let pages = runs.write(state, &self.fingerprint.hash)?;
        let head = self.head(state, &runs)?;
        Ok([head]
            .into_iter()
            .chain(pages.into_values().flatten())
            .collect())
    }

    /// The pages that have changed since they were last written or read. Hidden windows are dropped
    /// first, so that no page still has them that a snapshot has not (rules 1.7).
    pub fn changed_pages(&mut self, state: &mut StateStore) -> Result<Vec<ChangedPage>> {
        let (windows, mut states) = state.at_rest();
        windows.drop_hidden(&mut states);
        let mut changed = self.runs.write(state, &self.fingerprint.hash)?;
        for name in std::mem::take(&mut self.stale) {
            changed.entry(name).or_insert(None);
        }
        state.windows.mark_clean();
        let head = self.head(state, &self.runs)?;
        let changed = changed.into_iter();
        let pages = changed.map(|(name, page)| (name.to_string(), page));
        Ok(pages.chain([(head::NAME.into(), Some(head))]).collect())
    }

    /// The pages of a saved state that a micro-batch with these keys needs: of the runs that have them or
    /// get them, and of those in which something closes or leaves as time goes on to `times`, one
    /// after the other, and then to `progress`. None where all are needed, as the runs are not those of
    /// this operator.
    pub fn touched(
        &self,
        state: &StateStore,
        head: &[u8],
        keys: &RecordBatch,
        times: &[SourceTime],
        progress: &[SourceTime],
    ) -> Result<Option<Vec<String>>> {
        let label = Label::read(head)?;
        let (head, saved) = self.open(&label, head)?;
        if !is_own(&head, state) {
            return Ok(None);
        }
        let table = RangeTable::of(&head)?;
        let (due, kept) = state.windows.closing(saved, times, progress);
        let mut touched = Touched::new(&table, due, kept);
        for from in (0..keys.num_rows()).step_by(KEYS) {
            let some = keys.slice(from, KEYS.min(keys.num_rows() - from));
            let names = state.sort_keys.of(some.columns())?;
            let mut names = (0..some.num_rows()).filter_map(|row| names.get(row));
            if names.try_for_each(|name| touched.add(name)).is_break() {
                break;
            }
        }
        Ok(Some(
            touched.names().iter().map(PageName::to_string).collect(),
        ))
    }

    /// Reads saved pages, in any order, into the state of an operator that has seen no record.
    pub fn restore(
        &mut self,
        state: &mut StateStore,
        pages: &[&[u8]],
        part: StatePart,
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
        let (head, progress) = self.open(label, bytes)?;
        let (indexes, windows): (Vec<_>, Vec<_>) = windows
            .into_iter()
            .partition(|(label, _)| label.form == PageKind::Index);
        let ids = windows.iter().map(|(label, _)| label.id());
        let ids: BTreeSet<PageId> = ids.collect::<Result<_>>()?;
        if part == StatePart::Whole {
            head.check_complete(windows.iter().map(|(label, _)| label.id()))?;
        }
        let is_own = is_own(&head, state);
        if part == StatePart::Runs && !is_own {
            return Err(broken(
                "its runs are not those of this operator, which needs all pages",
            ));
        }
        if is_own && part != StatePart::Pages {
            self.runs = SavedRuns::of(&head, &ids)?;
        }
        state.seq_nos = head.seq_nos;
        state.null_values = head.counters.null_values;
        state.updates = head.counters.updates;
        state
            .windows
            .resume(progress, Time(head.closed), head.counters);
        for (left, (label, bytes)) in (1..=windows.len()).rev().zip(&windows) {
            if label.fingerprint != self.fingerprint.hash {
                return Err(broken(
                    "a page belongs to another specification than the head",
                ));
            }
            let rows = page::read(bytes)?.1;
            state.windows.reserve(rows.num_rows().saturating_mul(left)); // pages are of about one length
            if head.runs.is_empty() {
                let keys = window_pages::read(state, label, &rows)?;
                self.runs.add_keys(label.id()?, keys);
            } else {
                window_pages::join(state, label, &rows)?;
            }
        }
        if is_own {
            state.windows.mark_clean(); // nothing differs from the saved state
        } else {
            let names = indexes
                .iter()
                .chain(&windows)
                .map(|(label, _)| label.name());
            self.stale = names.collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// How many open windows there are in runs that were not read.
    pub fn unread(&self) -> u64 {
        self.runs.unread()
    }

    fn open(&self, label: &Label, bytes: &[u8]) -> Result<(Head, Vec<Progress>)> {
        Head::open(label, bytes, &self.fingerprint)
    }

    fn head(&self, state: &StateStore, runs: &SavedRuns) -> Result<Vec<u8>> {
        let progress = state.windows.time().progress();
        let (closed, width) = (state.windows.closed(), state.windows.segment_width());
        let (counters, seq_nos) = (state.counters(), state.seq_nos);
        let pages = runs.table().pages();
        let mut head = Head::new(progress, closed, width, seq_nos, counters, pages);
        head.ranges = runs.table().ranges();
        head.write(progress, &self.fingerprint)
    }
}

/// Whether a state has the segments of an operator, whole windows in them, and runs of known keys.
fn is_own(head: &Head, state: &StateStore) -> bool {
    let mut segments = head.pages.keys();
    head.runs.is_empty()
        && head.width == state.windows.segment_width()
        && segments.all(|segment| head.ranges.contains_key(segment))
}
