//! Saves and restores the state of an operator between two micro-batches as pages. Handles either
//! all pages, or only the pages that a micro-batch needs and changes.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::operator::{Operator, RESTORE};
use super::saved_windows;
use super::state_part::StatePart;
use super::window_pages;
use super::windows::{Windows, dispatch_windows};
use crate::core::error::Result;
use crate::core::operator::window_operator::Closing;
use crate::core::time::{Span, Time};
use crate::input::events::SOURCE;
use crate::state::page::{ChangedPage, Label, PageKind, PageName, broken};
use crate::state::segment_table::Layout;
use crate::state::snapshot::Snapshot;
use crate::state::source_time::{SourceTime, seen};
use crate::state::stored_windows::StoredWindows;
use crate::state::touched::Touched;

/// The number of rows per step of making sort keys.
const KEYS: usize = 1 << 12;

impl Operator {
    /// The whole state as pages. This call does not affect [`Self::changed_pages`].
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] after a failed call.
    /// [`crate::core::error::Error::Function`] for accumulators that do not fit their type.
    pub fn pages(&self) -> Result<Vec<Vec<u8>>> {
        self.check_whole()?;
        let mut whole = self.empty_snapshot();
        let pages = saved_windows::write(&self.state, &mut whole)?;
        let head = whole.head(&self.state.clock())?;
        let pages = pages.into_values().flatten();
        Ok([head].into_iter().chain(pages).collect())
    }

    /// The pages changed since the last call, or since the operator was restored, by name. `None`
    /// deletes a page. Applied to the previous pages, they give the same state as [`Self::pages`].
    pub fn changed_pages(&mut self) -> Result<Vec<ChangedPage>> {
        match self.part {
            StatePart::Changed => self.check_usable()?,
            _ => self.check_whole()?,
        }
        // Drop hidden windows first, so that changed pages hold the same windows as a full snapshot
        // (rules 1.7).
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| own.drop_hidden(&mut states));
        let changed = saved_windows::write(&self.state, &mut self.snapshot)?;
        dispatch_windows!(&mut self.state.windows, |own| own.store_mut().mark_clean());
        self.snapshot.finish(changed, &self.state.clock())
    }

    /// The pages of a saved state that a micro-batch needs: the runs to which its keys belong, and
    /// the runs in which a window closes or leaves. `keys` are the key columns of the micro-batch.
    /// `times` and `progress` are the arguments of its push. `None` if it needs all pages, because
    /// the state has parts or another segment length. [`Self::restore_touched`] may need more.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for a head that is damaged or of another query, and if
    /// the operator has seen records. Errors for columns of other types.
    pub fn touched(
        &mut self,
        head: &[u8],
        keys: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> Result<Option<Vec<String>>> {
        self.check_whole()?;
        self.state.check_unused()?;
        self.check_progress(progress)?;
        let inputs = times.into_iter().flat_map(RecordBatch::columns).enumerate();
        let latest = inputs.filter_map(|(input, times)| {
            let times = times.as_primitive_opt::<Int64Type>()?;
            let time = times.iter().flatten().max()?;
            Some(SourceTime {
                input,
                source: SOURCE,
                time: Time(time),
            })
        });
        let latest: Vec<SourceTime> = latest.collect();
        let mut saved = self.empty_snapshot();
        let (_, clock) = saved.open(head)?;
        if !saved.foreign.is_empty() {
            return Ok(None);
        }
        let state = &self.state;
        let (saved_times, latest, last) = (clock.progress, seen(&latest), seen(progress));
        let closing =
            dispatch_windows!(&state.windows, |own| own.closing(saved_times, latest, last));
        let mut touched = Touched::new(&saved.table, closing);
        for from in (0..keys.num_rows()).step_by(KEYS) {
            let some = keys.slice(from, KEYS.min(keys.num_rows() - from));
            let names = state.sort_keys.of(some.columns())?;
            let mut names = (0..some.num_rows()).filter_map(|row| names.get(row));
            if names.try_for_each(|name| touched.add(name)).is_break() {
                break;
            }
        }
        let names = touched.names();
        self.due = closing.due;
        Ok(Some(names.iter().map(PageName::to_string).collect()))
    }

    /// The unread pages of the keys whose records stop waiting in the micro-batch of
    /// [`Self::touched`]. Such records join the last session of their key, which is in any segment.
    fn touched_by_due(&self) -> Vec<String> {
        let (Windows::Cut(sessions), Some(last)) =
            (&self.state.windows, self.due.checked_sub(Span(1)))
        else {
            return Vec::new();
        };
        let store = sessions.store();
        let mut touched = Touched::new(&self.snapshot.table, Closing::NOTHING);
        for (key, entry) in store.find_due(Time::MIN, last) {
            if entry.waits && touched.add(store.name(key)).is_break() {
                break;
            }
        }
        let names = touched.names().into_iter();
        let unread = names.filter(|name| self.snapshot.is_unread(name.id.segment, name.id.run));
        unread.map(|name| name.to_string()).collect()
    }

    /// A snapshot without pages.
    fn empty_snapshot(&self) -> Snapshot {
        let fingerprint = self.snapshot.fingerprint.clone();
        let width = self.state.windows.segment_width();
        Snapshot::new(fingerprint, Layout::Ranges, width)
    }

    /// Reads the pages of a saved state, in any order. The operator must not have seen records;
    /// otherwise the call fails and changes nothing. After any other error the operator refuses
    /// every call.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for pages that are damaged, missing, or of another
    /// query, and if the operator has seen records.
    pub fn restore(&mut self, pages: &[&[u8]]) -> Result<()> {
        self.read_pages(pages, StatePart::Whole)
    }

    /// Reads the head and the pages named by [`Self::touched`]. Returns the names of more pages that
    /// the micro-batch needs. If there are any, another call must read exactly these, without the
    /// head. The operator can then process that micro-batch and return its [`Self::changed_pages`],
    /// but nothing else.
    ///
    /// # Errors
    ///
    /// As [`Self::restore`], except that pages of other runs may be missing.
    pub fn restore_touched(&mut self, pages: &[&[u8]]) -> Result<Vec<String>> {
        if self.part == StatePart::Due {
            self.run(RESTORE, |operator| operator.load_more(pages))?;
            self.part = StatePart::Runs;
            return Ok(Vec::new());
        }
        self.read_pages(pages, StatePart::Runs)?;
        let more = self.touched_by_due();
        if !more.is_empty() {
            self.part = StatePart::Due;
        }
        Ok(more)
    }

    /// Reads the head and some pages of a saved state, only for [`Self::select`].
    ///
    /// # Errors
    ///
    /// As [`Self::restore`], except that pages of windows may be missing.
    pub fn restore_part(&mut self, pages: &[&[u8]]) -> Result<()> {
        self.read_pages(pages, StatePart::Pages)
    }

    fn read_pages(&mut self, pages: &[&[u8]], part: StatePart) -> Result<()> {
        self.check_whole()?;
        self.state.check_unused()?;
        self.run(RESTORE, |operator| operator.load(pages, part))?;
        self.part = part;
        Ok(())
    }

    fn load(&mut self, pages: &[&[u8]], part: StatePart) -> Result<()> {
        let labels = pages.iter().map(|bytes| Label::read(bytes));
        let labels = labels.collect::<Result<Vec<_>>>()?;
        let pages = || labels.iter().zip(pages);
        let mut heads = pages().filter(|(label, _)| label.kind == PageKind::Head);
        let (Some((_, head)), None) = (heads.next(), heads.next()) else {
            return Err(broken("a state has one head"));
        };
        let Self {
            state, snapshot, ..
        } = self;
        let (layout, clock) = snapshot.open(head)?;
        let is_own = snapshot.foreign.is_empty();
        let holds = |label: &Label| !matches!(label.kind, PageKind::Head | PageKind::Index);
        let windows: Vec<&[u8]> = pages()
            .filter(|(label, _)| holds(label))
            .map(|(_, bytes)| *bytes)
            .collect();
        let ids = labels.iter().filter(|label| holds(label)).map(Label::id);
        let mut ids = ids.collect::<Result<Vec<_>>>()?;
        ids.sort_unstable();
        match part {
            StatePart::Whole if !ids.iter().copied().eq(snapshot.ids()) => {
                return Err(broken("pages are missing, or some are not of this state"));
            }
            StatePart::Runs if !is_own => {
                return Err(broken(
                    "its runs differ from the runs of this operator, which needs all pages",
                ));
            }
            StatePart::Pages => {}
            _ => snapshot.read(&ids.into_iter().collect())?,
        }
        state.resume(clock);
        let (fingerprint, keys) = (&snapshot.fingerprint.hash, state.query.keys.len());
        let mut parts = Vec::new();
        for (left, bytes) in (1..=windows.len()).rev().zip(windows) {
            let page = StoredWindows::read(bytes, fingerprint, keys)?;
            if layout == Layout::Parts {
                parts.push(page);
                continue;
            }
            let rows = page.len().saturating_mul(left); // pages have similar lengths
            dispatch_windows!(&mut state.windows, |own| own.store_mut().reserve(rows));
            window_pages::read(state, &page)?;
        }
        if !parts.is_empty() {
            window_pages::join(state, &parts)?;
        }
        if is_own {
            dispatch_windows!(&mut state.windows, |own| own.store_mut().mark_clean()); // nothing differs from the saved state
        }
        Ok(())
    }

    /// Reads the pages that [`Self::restore_touched`] has named.
    fn load_more(&mut self, pages: &[&[u8]]) -> Result<()> {
        let Self {
            state, snapshot, ..
        } = self;
        let (fingerprint, keys) = (&snapshot.fingerprint.hash, state.query.keys.len());
        let mut ids = BTreeSet::new();
        for bytes in pages {
            let page = StoredWindows::read(bytes, fingerprint, keys)?;
            ids.insert(page.name.id);
            window_pages::read(state, &page)?;
        }
        snapshot.read_more(&ids)?;
        dispatch_windows!(&mut state.windows, |own| own.store_mut().mark_clean());
        if self.touched_by_due().is_empty() {
            Ok(())
        } else {
            Err(broken("pages that the micro-batch needs are missing"))
        }
    }
}
