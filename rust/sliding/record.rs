//! The sliding operator, record by record, as Kafka Streams does it.

use super::decide::{NewWindow, around, decide, is_early};
use super::windows::SlidingWindows;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::{Error, Result};
use crate::operator::change::{Emit, Late, Sink};
use crate::operator::record::{Effective, Fate, KeyedRecord};
use crate::operator::stream_time::Now;
use crate::operator::window_operator::{Changed, WindowKind, WindowOperator};
use crate::store::{StoreKey, WindowEntry};
use crate::time::{Span, Time};
use crate::window::{Horizon, Window, starts_closed_before};

/// The sliding windows of one world, and its stream time.
pub type SlidingOperator = WindowOperator<SlidingWindows>;

impl WindowKind for SlidingWindows {
    type Entry = WindowEntry;
    /// The windows around a record, latest first, and those that it makes.
    type Scratch = (Vec<WindowEntry>, Vec<NewWindow>);

    fn check(&self) -> Result<()> {
        self.check()
    }

    fn segment(&self) -> Span {
        self.segment()
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

    fn horizon(&self, now: Now) -> Horizon {
        match self.grace {
            Some(_) => Horizon::of_windows(
                now.time,
                now.close,
                self.retention(),
                self.sliding.difference,
            ),
            None => Horizon::OPEN,
        }
    }

    /// Sliding windows are due by their start.
    fn due_before(&self, close: Time) -> Time {
        starts_closed_before(close, self.sliding.difference)
    }

    fn window(&self, entry: &WindowEntry) -> Window {
        Window::sliding(entry.start, self.sliding.difference)
    }

    /// There are no gaps.
    fn gap(&self, _own: Option<i64>) -> Effective {
        Effective::StoreQuery(Span(0))
    }

    fn add<S: States>(
        windows: &mut SlidingOperator,
        seq_no: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate> {
        let sliding = windows.windows.sliding;
        let floored = seq_no.time.floor(sliding.resolution);
        let own = floored.and_then(|floored| Window::of_record(floored, sliding.difference));
        let (Some(floored), Some(own)) = (floored, own) else {
            return Err(Error::Overflow {
                column: "window".into(),
                reason: format!(
                    "a window around {} starts before the earliest time",
                    seq_no.time.0
                ),
            });
        };
        let widest = Window::sliding(floored, sliding.difference);
        let fate = if widest.is_late(seq_no.late) {
            windows.counters.late += 1;
            Fate::Late
        } else {
            windows.touch(seq_no, floored, own, states, out)?;
            Fate::Kept
        };
        if own.is_late(seq_no.late) && windows.windows.late == Late::Emit {
            windows.alone(seq_no, own, states, out)?;
        }
        Ok(fate)
    }
}

impl SlidingOperator {
    /// Decides and applies, in Kafka's order: the windows that are there take the record, then
    /// others are made. Only the early window comes last.
    fn touch<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        floored: Time,
        own: Window,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (mut found, mut births) = std::mem::take(&mut self.scratch);
        let (first, last) = around(floored, self.windows.sliding);
        found.clear();
        found.extend(self.store.within(seq_no.key, first..=last).rev());
        decide(
            floored,
            own,
            found.as_slice(),
            self.windows.sliding,
            &mut births,
        );
        // What the right window copies is what stood there before this record.
        let copy = births.iter().find_map(|birth| {
            if let NewWindow::Copy { base, .. } = birth {
                Some(*base)
            } else {
                None
            }
        });
        let copied = copy
            .map(|base| self.copy(seq_no.key, base, states))
            .transpose()?
            .flatten();

        let holds = |start: Time| own.start <= start && start <= floored;
        let mut starts = found
            .iter()
            .map(|window| window.start)
            .filter(|&start| holds(start));
        if is_early(floored, own) {
            let early = found.last().filter(|window| window.start == own.start);
            starts
                .rev()
                .filter(|&start| start != own.start)
                .try_for_each(|start| self.update(seq_no, start, states, out))?;
            self.make(&births, copied, seq_no, states, out)?;
            early.map_or(Ok(()), |window| {
                self.update(seq_no, window.start, states, out)
            })?;
        } else {
            starts.try_for_each(|start| self.update(seq_no, start, states, out))?;
            self.make(&births, copied, seq_no, states, out)?;
        }
        self.scratch = (found, births);
        Ok(())
    }

    /// Makes windows; `copied` is what a copying one holds.
    fn make<S: States>(
        &mut self,
        births: &[NewWindow],
        mut copied: Option<(Slot, Time)>,
        seq_no: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        for &birth in births {
            match birth {
                NewWindow::Create { start, base } => {
                    self.create(seq_no, start, base, states, out)?
                }
                NewWindow::Copy { start, .. } => {
                    if let Some((slot, largest)) = copied.take() {
                        let window = Window::sliding(start, self.windows.sliding.difference);
                        let known = self.put(
                            seq_no.key,
                            WindowEntry {
                                start,
                                largest,
                                slot,
                            },
                            states,
                        );
                        let changed = Changed {
                            key: seq_no.key,
                            window,
                            time: largest,
                            slot: Some(slot),
                            known,
                        };
                        self.changed(changed, states, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A stored window takes the record, unless it is late.
    fn update<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        start: Time,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let window = Window::sliding(start, self.windows.sliding.difference);
        if self.refuses(window, seq_no.late) {
            return Ok(());
        }
        let Some(entry) = self.store.entry(seq_no.key, start) else {
            return Ok(());
        };
        states.update(entry.slot, seq_no.row, window)?;
        entry.largest = entry.largest.max(seq_no.time);
        let WindowEntry { largest, slot, .. } = *entry;
        let changed = Changed {
            key: seq_no.key,
            window,
            time: largest,
            slot: Some(slot),
            known: true,
        };
        if states.is_null(slot) {
            self.store.remove(seq_no.key, start);
            states.release(slot);
            return self.changed(
                Changed {
                    slot: None,
                    ..changed
                },
                states,
                out,
            );
        }
        self.changed(changed, states, out)
    }

    /// A new window takes the record, unless it is late.
    fn create<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        start: Time,
        base: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let window = Window::sliding(start, self.windows.sliding.difference);
        if self.refuses(window, seq_no.late) {
            return Ok(());
        }
        let base = match base {
            Some(base) => self.copy(seq_no.key, base, states)?,
            None => None,
        };
        let slot = match base {
            Some((slot, _)) => slot,
            None => states.allocate()?,
        };
        states.update(slot, seq_no.row, window)?;
        if states.is_null(slot) {
            states.release(slot);
            let old = self.store.remove(seq_no.key, start);
            if let Some(old) = &old {
                states.release(old.slot);
            }
            let known = old.is_some();
            return self.changed(
                Changed {
                    key: seq_no.key,
                    window,
                    time: seq_no.time,
                    slot: None,
                    known,
                },
                states,
                out,
            );
        }
        let known = self.put(
            seq_no.key,
            WindowEntry {
                start,
                largest: seq_no.time,
                slot,
            },
            states,
        );
        self.changed(
            Changed {
                key: seq_no.key,
                window,
                time: seq_no.time,
                slot: Some(slot),
                known,
            },
            states,
            out,
        )
    }

    fn refuses(&mut self, window: Window, late: Time) -> bool {
        let refuses = window.is_late(late);
        self.counters.windows_refused += u64::from(refuses);
        refuses
    }

    /// A copy of what a stored window holds, and its largest time.
    fn copy<S: States>(
        &mut self,
        key: StoreKey,
        start: Time,
        states: &mut S,
    ) -> Result<Option<(Slot, Time)>> {
        let Some(&mut WindowEntry { largest, slot, .. }) = self.store.entry(key, start) else {
            return Ok(None);
        };
        let copy = states.allocate()?;
        states.copy(copy, slot)?;
        Ok(Some((copy, largest)))
    }

    /// Stores a window; whether one stood in its place.
    pub(super) fn put<S: States>(
        &mut self,
        key: StoreKey,
        entry: WindowEntry,
        states: &mut S,
    ) -> bool {
        let replaced = self.store.put(key, entry);
        if let Some(replaced) = &replaced {
            states.release(replaced.slot);
        }
        replaced.is_some()
    }
}
