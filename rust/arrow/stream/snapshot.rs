//! An operator's state as pages, and back.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};

use super::operator::Operator;
use super::states::{failed, save};
use super::windows::Windows;
use crate::aggregate::slot::Slot;
use crate::arrow::array::{convert, result_array};
use crate::arrow::format::head::{self, Head, PageCounts};
use crate::arrow::format::page::{self, Columns, Label, Page, PageBounds, PageKind, broken};
use crate::arrow::format::window_row::WindowRow;
use crate::error::Result;
use crate::operator::stream_time::Progress;
use crate::store::{SegmentId, SessionEntry, StoreKey, WindowEntry, WindowTable};
use crate::time::Time;
use crate::window::Window;

/// The run that the operator writes.
const RUN: u32 = 0;

impl Operator {
    /// The whole state. What is reported by [`Self::changes`] does not change by it.
    pub fn pages(&self) -> Result<Vec<Vec<u8>>> {
        self.check_whole()?;
        let mut pages = Vec::new();
        let mut written = PageCounts::new();
        for id in self.windows.segments() {
            let segment = self.segment(id)?;
            if !segment.is_empty() {
                written.insert(id.0, vec![segment.len() as u32]);
            }
            pages.extend(segment.into_iter().map(|page| page.bytes));
        }
        pages.insert(0, self.head(written)?);
        Ok(pages)
    }

    /// What a saved state lacks since this was last asked, or since the operator was restored from
    /// it: pages by name, without bytes where a page is no more.
    pub fn changes(&mut self) -> Result<Vec<(String, Option<Vec<u8>>)>> {
        self.check_whole()?;
        let ids: BTreeSet<SegmentId> = self
            .windows
            .changed()
            .into_iter()
            .chain(self.stale.iter().copied().map(SegmentId))
            .collect();
        let mut changes = Vec::new();
        let mut written = self.written.clone();
        for id in ids {
            let pages = self.segment(id)?;
            let before = written.remove(&id.0).unwrap_or_default();
            if !pages.is_empty() {
                written.insert(id.0, vec![pages.len() as u32]);
            }
            let names: BTreeSet<String> = pages.iter().map(|page| page.place.to_string()).collect();
            changes.extend(
                pages
                    .into_iter()
                    .map(|page| (page.place.to_string(), Some(page.bytes))),
            );
            let before = (0_u32..)
                .zip(before)
                .flat_map(|(run, count)| (0..count).map(move |number| (run, number)));
            let before = before.map(|(run, number)| {
                page::PageId {
                    segment: id.0,
                    run,
                    number,
                }
                .to_string()
            });
            changes.extend(
                before
                    .filter(|name| !names.contains(name))
                    .map(|name| (name, None)),
            );
        }
        changes.push((head::NAME.into(), Some(self.head(written.clone())?)));
        // All of it is written: from here on it is known.
        self.written = written;
        self.stale.clear();
        self.windows.mark_clean();
        Ok(changes)
    }

    /// Goes on from saved pages, in any order; the operator has seen no record yet.
    pub fn restore(&mut self, pages: &[&[u8]]) -> Result<()> {
        if self.seq_nos > 0
            || self
                .windows
                .time()
                .progress()
                .iter()
                .any(|input| input.time.is_some())
        {
            return Err(broken(
                "an operator that has seen records cannot be restored: make a new one",
            ));
        }
        let labels = pages
            .iter()
            .map(|bytes| Label::read(bytes))
            .collect::<Result<Vec<_>>>()?;
        let mut heads = labels
            .iter()
            .zip(pages)
            .filter(|(label, _)| label.form == PageKind::Head);
        let (Some((label, bytes)), None) = (heads.next(), heads.next()) else {
            return Err(broken("a state has one head"));
        };
        if label.fingerprint != self.fingerprint.hash {
            let difference = self
                .fingerprint
                .difference(label.text("windrow.specification")?);
            return Err(broken(format!(
                "it belongs to another specification: {difference}"
            )));
        }
        let (head, progress) = Head::read(label, bytes)?;
        let windows = || {
            labels
                .iter()
                .zip(pages)
                .filter(|(label, _)| label.form != PageKind::Head)
        };
        head.check_complete(windows().map(|(label, _)| label.place()))?;
        self.resume(&head, progress);
        for (label, bytes) in windows() {
            if label.fingerprint != self.fingerprint.hash {
                return Err(broken(
                    "a page belongs to another specification than the head",
                ));
            }
            self.load(label, &page::read(bytes)?.1)?;
        }
        if self.windows.segment_width() == head.width {
            self.windows.mark_clean(); // nothing has changed against the saved state
        } else {
            self.stale = head.pages.keys().copied().collect();
        }
        self.written = head.pages;
        Ok(())
    }

    fn segment(&self, id: SegmentId) -> Result<Vec<Page>> {
        match &self.windows {
            Windows::Sessions(sessions) => self.write(sessions.store(), id),
            Windows::SlidingOperator(slides) => self.write(slides.store(), id),
        }
    }

    fn write<E: WindowRow>(&self, store: &WindowTable<E>, id: SegmentId) -> Result<Vec<Page>> {
        let entries = store.segment(id);
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<&[u8]> = entries.iter().map(|&(key, _)| store.name(key)).collect();
        let slots: Vec<Slot> = entries.iter().map(|(_, entry)| entry.slot()).collect();
        let times: Vec<Vec<i64>> = entries.iter().map(|(_, entry)| entry.times()).collect();
        let mut columns = Columns::new();
        let keys = self.names.columns(names.iter().copied())?;
        columns.extend(
            self.names
                .fields()
                .into_iter()
                .map(|field| field.name().clone())
                .zip(keys),
        );
        for (place, name) in E::COLUMNS.iter().enumerate() {
            let ticks = times
                .iter()
                .map(|times| times.get(place).copied().unwrap_or_default());
            columns.push((
                (*name).into(),
                Arc::new(Int64Array::from_iter_values(ticks)),
            ));
        }
        columns.push((
            "source".into(),
            Arc::new(Int64Array::from(vec![0; entries.len()])),
        ));
        for (nth, column) in self.accumulators.save(&slots).into_iter().enumerate() {
            columns.push((format!("state {nth}"), result_array::array(column)?));
        }
        let windows: Vec<Window> = entries
            .iter()
            .map(|(_, entry)| entry.window(self.difference()))
            .collect();
        for (nth, functions) in self.functions.iter().enumerate() {
            let saved = save(&self.query, nth, functions.as_ref(), &slots, &windows)?;
            columns.push((format!("function {nth}"), saved));
        }
        let bounds = |rows: std::ops::Range<usize>| {
            let keys = names.get(rows.clone())?;
            let times = entries.get(rows)?.iter().map(|(_, entry)| entry.bounds());
            let times = times
                .reduce(|(first, last), (start, reach)| (first.min(start), last.max(reach)))?;
            Some(PageBounds {
                keys: (keys.first()?.to_vec(), keys.last()?.to_vec()),
                times,
            })
        };
        page::write_run(
            columns,
            E::FORM,
            &self.fingerprint.hash,
            (id.0, RUN),
            bounds,
        )
    }

    fn head(&self, pages: PageCounts) -> Result<Vec<u8>> {
        let progress = self.windows.time().progress();
        let (closed, width) = (self.windows.closed(), self.windows.segment_width());
        Head::new(
            progress,
            closed,
            width,
            self.seq_nos,
            self.counters(),
            pages,
        )
        .write(progress, &self.fingerprint)
    }

    fn resume(&mut self, head: &Head, progress: Vec<Progress>) {
        self.seq_nos = head.seq_nos;
        self.null_values = head.counters.null_values;
        self.updates = head.counters.updates;
        self.windows
            .resume(progress, Time(head.closed), head.counters);
    }

    fn load(&mut self, label: &Label, rows: &RecordBatch) -> Result<()> {
        let wrong = || {
            broken(format!(
                "unexpected columns {:?}",
                rows.schema()
                    .fields()
                    .iter()
                    .map(|f| f.name())
                    .collect::<Vec<_>>()
            ))
        };
        let expected = match &self.windows {
            Windows::Sessions(_) => (SessionEntry::FORM, SessionEntry::COLUMNS.len()),
            Windows::SlidingOperator(_) => (WindowEntry::FORM, WindowEntry::COLUMNS.len()),
        };
        if label.form != expected.0 {
            return Err(broken("it holds windows of another kind"));
        }
        let (keys, rest) = rows
            .columns()
            .split_at_checked(self.query.keys.len())
            .ok_or_else(wrong)?;
        let (times, rest) = rest.split_at_checked(expected.1).ok_or_else(wrong)?;
        let (_sources, states) = rest.split_first().ok_or_else(wrong)?;
        let width = states
            .len()
            .checked_sub(self.functions.len())
            .ok_or_else(wrong)?;
        let (states, functions) = states.split_at_checked(width).ok_or_else(wrong)?;

        let names = self.names.of(keys)?;
        let times = times.iter().map(page::ticks).collect::<Result<Vec<_>>>()?;
        let states = states
            .iter()
            .map(convert::view)
            .collect::<Result<Vec<_>>>()?;
        let saved = self
            .accumulators
            .load(&states)
            .map_err(|error| broken(error.to_string()))?;
        let slots = (0..rows.num_rows())
            .map(|_| self.accumulators.allocate())
            .collect::<Result<Vec<_>>>()?;
        let from: Vec<Slot> = (0..rows.num_rows() as u32).map(Slot).collect();
        self.accumulators.merge(&slots, &saved, &from)?;
        for (nth, (functions, values)) in self.functions.iter_mut().zip(functions).enumerate() {
            functions.resize(self.accumulators.len());
            functions
                .load(&slots, values)
                .map_err(|failure| failed(&self.query, nth, failure, None, None))?;
        }
        for (row, &slot) in slots.iter().enumerate() {
            let name = names
                .get(row)
                .ok_or_else(|| broken("a window has no key"))?;
            let times: Vec<i64> = times
                .iter()
                .filter_map(|times| times.get(row).copied())
                .collect();
            match &mut self.windows {
                Windows::Sessions(sessions) => put(sessions.store_mut(), name, &times, slot)?,
                Windows::SlidingOperator(slides) => put(slides.store_mut(), name, &times, slot)?,
            }
        }
        Ok(())
    }
}

fn put<E: WindowRow>(
    store: &mut WindowTable<E>,
    name: &[u8],
    times: &[i64],
    slot: Slot,
) -> Result<()> {
    let entry =
        E::of(times, slot).ok_or_else(|| broken("the bounds of a window are not in order"))?;
    let key: StoreKey = store.intern(name)?;
    match store.put(key, entry) {
        None => Ok(()),
        Some(_) => Err(broken("a window is there twice")),
    }
}
