//! The record-by-record sliding operator. It behaves like Kafka Streams.

use super::new_window_rules::{NewWindow, around, decide, is_early};
use super::plan::{Sliding, beyond_time};
use super::sliding_windows::SlidingWindows;
use crate::core::aggregate::states::States;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Emit, Late, Sink, WindowChange};
use crate::core::operator::record::{KeyedRecord, RecordOutcome};
use crate::core::operator::stream_time::StreamTimes;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::store::WindowEntry;
use crate::core::time::{Span, Time};
use crate::core::window::{Horizon, Window, starts_closed_before};

/// The sliding windows and the stream time of one stream.
pub(crate) type SlidingOperator = WindowOperator<SlidingWindows>;

impl WindowKind for SlidingWindows {
    type Entry = WindowEntry;
    /// The windows around a record, latest first, and the windows that it creates.
    type Scratch = (Vec<WindowEntry>, Vec<NewWindow>);

    fn check(&self) -> Result<()> {
        let Sliding {
            difference,
            resolution,
        } = self.sliding;
        let grace = self.grace.unwrap_or_default();
        let wrong = |argument: &str, got: Span, allowed: String| {
            Err(Error::Argument {
                argument: argument.into(),
                got: got.0.to_string(),
                allowed,
            })
        };
        if i64::try_from(resolution.0).is_err() || resolution == Span(0) {
            return wrong("resolution", resolution, "at least one tick".into());
        }
        if i64::try_from(difference.0).is_err() {
            return wrong(
                "difference",
                difference,
                format!("at most {} ticks", i64::MAX),
            );
        }
        if difference == Span(0) || !difference.0.is_multiple_of(resolution.0) {
            return wrong(
                "difference",
                difference,
                format!("a multiple of the resolution, {}", resolution.0),
            );
        }
        if !grace.0.is_multiple_of(resolution.0) {
            return wrong(
                "grace",
                grace,
                format!("a multiple of the resolution, {}", resolution.0),
            );
        }
        let least = difference.saturating_mul(2).saturating_add(grace);
        match self.until {
            Some(until) if until < least => wrong(
                "retention",
                until,
                format!("at least 2 x difference + grace, {}", least.0),
            ),
            _ => Ok(()),
        }
    }

    fn segment(&self) -> Span {
        if self.grace.is_none() {
            Span(u64::MAX)
        } else {
            Span((self.retention().0 / 8).max(1))
        }
    }

    fn unit(&self) -> Span {
        self.sliding.resolution
    }

    fn grace(&self) -> Option<Span> {
        self.grace
    }

    fn emit(&self) -> Emit {
        self.emit
    }

    fn horizon(&self, now: StreamTimes) -> Horizon {
        match self.grace {
            Some(_) if self.returns_records => {
                Horizon::of_times(now.close, self.sliding.difference)
            }
            Some(_) => Horizon::of_windows(
                now.time,
                now.close,
                self.retention(),
                self.sliding.difference,
            ),
            None => Horizon::OPEN,
        }
    }

    /// Sliding windows are due at their start.
    fn due_before(&self, close: Time) -> Time {
        starts_closed_before(close, self.sliding.difference)
    }

    fn id(window: Window) -> Time {
        window.start
    }

    fn window(&self, entry: &WindowEntry) -> Window {
        Window::sliding(entry.start, self.sliding.difference)
    }

    fn add<S: States>(
        operator: &mut SlidingOperator,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let sliding = operator.kind.sliding;
        let floored = record.time().floor(sliding.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, sliding.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return Err(beyond_time(record.time()));
        };
        let widest = Window::sliding(floored, sliding.difference);
        let outcome = if widest.is_late(record.input_close) {
            operator.counters.late += 1;
            RecordOutcome::Late(record.input_close.since(widest.end))
        } else if operator.touch(record, floored, own, states, out)? {
            RecordOutcome::Accepted
        } else {
            RecordOutcome::Refused(record.input_close.since(own.end))
        };
        if own.is_late(record.input_close) && operator.kind.late == Late::Emit {
            operator.emit_late(record, own, states, out)?;
        }
        Ok(outcome)
    }
}

impl SlidingOperator {
    /// Applies the decision of [`decide`] in Kafka's order: adds the record to stored windows, then
    /// creates new ones. The early window alone comes last. Returns whether a window took the record.
    /// If none did, none ever will: later windows copy the records of stored ones.
    fn touch<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        floored: Time,
        own: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<bool> {
        let (mut found, mut new_windows) = std::mem::take(&mut self.scratch);
        let (first, last) = around(floored, self.kind.sliding);
        found.clear();
        found.extend(self.store.within(record.key, first..=last).rev());
        decide(
            floored,
            own,
            found.as_slice(),
            self.kind.sliding,
            &mut new_windows,
        );
        // The right window copies its base without this record.
        let copy = new_windows.iter().find_map(|new| {
            if let NewWindow::Copy { base, .. } = new {
                Some(*base)
            } else {
                None
            }
        });
        let copied = copy
            .map(|base| self.copy(record.key, base, states))
            .transpose()?
            .flatten();

        let holds = |start: &Time| own.start <= *start && *start <= floored;
        let mut starts: Vec<Time> = found
            .iter()
            .map(|window| window.start)
            .filter(holds)
            .collect();
        let mut early = None;
        if is_early(floored, own) {
            starts.reverse();
            early = starts.first().copied().filter(|&start| start == own.start);
            starts.retain(|&start| Some(start) != early);
        }
        let mut taken = self.update(record, &starts, states, out)?;
        taken |= self.create_all(&new_windows, copied, record, states, out)?;
        taken |= self.update(record, early.as_slice(), states, out)?;
        self.scratch = (found, new_windows);
        Ok(taken)
    }

    /// Adds the record to stored windows, except where it is late. Returns whether one took it.
    fn update<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        starts: &[Time],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<bool> {
        let key = record.key;
        let mut updates = Vec::with_capacity(starts.len());
        let mut slots = Vec::with_capacity(starts.len());
        for &start in starts {
            let window = Window::sliding(start, self.kind.sliding.difference);
            if self.refuses(window, record.input_close) {
                continue;
            }
            if let Some(entry) = self.store.entry(key, start) {
                entry.largest = entry.largest.max(record.time());
                slots.push((entry.slot, window));
                updates.push((window, *entry));
            }
        }
        states.update_all(&slots, record.row)?;
        let taken = !updates.is_empty();
        for (window, entry) in updates {
            if states.is_null(entry.slot) {
                self.store.remove(key, entry.start);
                let delete = WindowChange::delete(window, entry.largest, true);
                self.release_deleted(key, entry.slot, delete, states, out)?;
            } else {
                let upsert = WindowChange::upsert(window, entry.largest, entry.slot, true);
                self.emit_update(key, upsert, states, out)?;
            }
        }
        Ok(taken)
    }

    /// Whether a window refuses records at this close time. Counts refusals.
    pub(super) fn refuses(&mut self, window: Window, close: Time) -> bool {
        let refuses = window.is_late(close);
        self.counters.windows_refused += u64::from(refuses);
        refuses
    }
}
