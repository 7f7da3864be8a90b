//! The session operator, record by record, as Kafka Streams does it.

use super::decide::{Choice, choose};
use super::windows::SessionWindows;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::{Emit, Late, Sink};
use crate::operator::record::{Effective, Fate, KeyedRecord};
use crate::operator::stream_time::Now;
use crate::operator::window_operator::{Changed, WindowKind, WindowOperator};
use crate::store::{Entry, SessionEntry, StoreKey};
use crate::time::{Span, Time};
use crate::window::{Extent, Horizon, Window};

/// The sessions of one world, and its stream time.
pub type SessionOperator = WindowOperator<SessionWindows>;

impl WindowKind for SessionWindows {
    type Entry = SessionEntry;
    /// The sessions that a record joins.
    type Scratch = Vec<SessionEntry>;

    fn check(&self) -> Result<()> {
        self.check()
    }

    fn segment(&self) -> Span {
        self.segment()
    }

    fn unit(&self) -> Span {
        Span(1)
    }

    fn grace(&self) -> Option<Span> {
        self.grace
    }

    fn emit(&self) -> Emit {
        self.emit
    }

    fn horizon(&self, now: Now) -> Horizon {
        Horizon::of_sessions(now.time, now.close, self.until)
    }

    /// Sessions are due by their reach.
    fn due_before(&self, close: Time) -> Time {
        close
    }

    fn window(&self, session: &SessionEntry) -> Window {
        session.window()
    }

    fn gap(&self, own: Option<i64>) -> Effective {
        self.gap.of(own)
    }

    fn add<S: States>(
        windows: &mut SessionOperator,
        seq_no: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate> {
        let record = Extent::of(seq_no.time, seq_no.gap);
        let mut found = std::mem::take(&mut windows.scratch);
        windows.store.joining(
            seq_no.key,
            record,
            windows.windows.gap.longest(),
            &mut found,
        );
        let fate = match choose(
            record,
            found.iter().map(|session| session.extent),
            seq_no.late,
        ) {
            Choice::Late => windows.late(seq_no, states, out).map(|()| Fate::Late),
            Choice::Keep { extent, deletes } => windows
                .keep(seq_no, extent, deletes, &found, states, out)
                .map(|()| Fate::Kept),
        };
        windows.scratch = found;
        fate
    }
}

impl SessionOperator {
    /// Merges the found sessions and the record, oldest first, the record last.
    fn keep<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        extent: Extent,
        deletes: bool,
        found: &[SessionEntry],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (key, window) = (seq_no.key, extent.window());
        let slot = self.gather(key, found, window, states)?;
        for session in found.iter().filter(|_| deletes) {
            let (window, time) = (session.window(), session.extent.end);
            self.changed(
                Changed {
                    key,
                    window,
                    time,
                    slot: None,
                    known: true,
                },
                states,
                out,
            )?;
        }
        states.update(slot, seq_no.row, window)?;
        let known = found.iter().any(|session| session.window() == window);
        let changed = Changed {
            key,
            window,
            time: window.end,
            slot: Some(slot),
            known,
        };
        if states.is_null(slot) {
            found
                .first()
                .and_then(|oldest| self.store.remove(key, oldest.place()));
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
        self.put(key, found, SessionEntry { extent, slot }, states);
        self.changed(changed, states, out)
    }

    /// Merges the states of the found sessions of a key, oldest first, into one slot. The younger
    /// ones leave the store.
    pub(super) fn gather<S: States>(
        &mut self,
        key: StoreKey,
        found: &[SessionEntry],
        window: Window,
        states: &mut S,
    ) -> Result<Slot> {
        let Some((oldest, younger)) = found.split_first() else {
            return states.allocate();
        };
        let slot = states.adopt(oldest.slot, window)?;
        for session in younger {
            states.merge(slot, session.slot, window)?;
            states.release(session.slot);
            self.store.remove(key, session.place());
        }
        Ok(slot)
    }

    /// Stores what was gathered from the found sessions in the stead of the oldest.
    pub(super) fn put<S: States>(
        &mut self,
        key: StoreKey,
        found: &[SessionEntry],
        session: SessionEntry,
        states: &mut S,
    ) {
        let replaced = match found.first() {
            Some(oldest) => self.store.replace(key, oldest.place(), session),
            None => self.store.put(key, session),
        };
        if let Some(replaced) = replaced {
            states.release(replaced.slot);
        }
    }

    fn late<S: States>(
        &mut self,
        seq_no: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.late += 1;
        if self.windows.late != Late::Emit {
            return Ok(());
        }
        let instant = Window {
            start: seq_no.time,
            end: seq_no.time,
        };
        self.alone(seq_no, instant, states, out)
    }
}
