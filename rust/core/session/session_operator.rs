//! The record-by-record session operator. It behaves like Kafka Streams.

use super::session_choice::{Choice, choose};
use super::session_windows::SessionWindows;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Emit, Late, Sink, WindowChange};
use crate::core::operator::record::{KeyedRecord, RecordOutcome};
use crate::core::operator::stream_time::StreamTimes;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::store::{SessionEntry, StoreEntry, StoreKey};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon, Window};

/// The sessions and the stream time of one stream.
pub(crate) type SessionOperator = WindowOperator<SessionWindows>;

impl WindowKind for SessionWindows {
    type Entry = SessionEntry;
    /// The sessions that a record joins.
    type Scratch = Vec<SessionEntry>;

    fn check(&self) -> Result<()> {
        let longest = self.gap.longest();
        let least = longest.saturating_add(self.grace.unwrap_or_default());
        match self.until {
            Some(until) if until < least => Err(Error::Argument {
                argument: "retention".into(),
                got: until.0.to_string(),
                allowed: format!("at least gap + grace, {}", least.0),
            }),
            _ => Ok(()),
        }
    }

    fn segment(&self) -> Span {
        let Some(grace) = self.grace else {
            return Span(u64::MAX);
        };
        if let Some(segment) = self.segment {
            return segment;
        }
        let visible = self.gap.longest().saturating_add(grace);
        Span((visible.saturating_add(self.until.unwrap_or_default()).0 / 8).max(1))
    }

    fn grace(&self) -> Option<Span> {
        self.grace
    }

    fn emit(&self) -> Emit {
        self.emit
    }

    fn horizon(&self, now: StreamTimes) -> Horizon {
        Horizon::of_sessions(now.time, now.close, self.until)
    }

    fn id(window: Window) -> (Time, Time) {
        (window.end, window.start)
    }

    fn add<S: States>(
        operator: &mut SessionOperator,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let own = record.extent;
        let mut found = std::mem::take(&mut operator.scratch);
        operator.store.joining(record.key, own, &mut found);
        let sessions = found.iter().map(|session| session.extent);
        let outcome = match choose(own, sessions, record.input_close) {
            Choice::Late(lacked) => operator
                .leave_out_late(record, states, out)
                .map(|()| RecordOutcome::Late(lacked)),
            Choice::Keep(extent) => operator
                .keep(record, extent, &found, states, out)
                .map(|()| RecordOutcome::Accepted),
        };
        operator.scratch = found;
        outcome
    }
}

impl SessionOperator {
    /// Merges the found sessions, oldest first, and then the record. Each found session is deleted,
    /// unless it has the bounds of the record and of the new session: then the new value overwrites it
    /// (rules 9.1 and 9.2).
    fn keep<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        extent: Extent,
        found: &[SessionEntry],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (key, window) = (record.key, extent.window());
        let covers_all = window == record.extent.window();
        let is_overwritten = |session: &SessionEntry| covers_all && session.window() == window;
        if self.kind.has_ends {
            self.counters.behind += u64::from(record.is_behind());
        }
        let slot = self.merge_found(key, found, window, states)?;
        for session in found.iter().filter(|session| !is_overwritten(session)) {
            self.emit_update(key, deleted(session.window()), states, out)?;
        }
        states.update(slot, record.row, window)?;
        // After its delete, a window with the same bounds is no longer stored.
        let was_stored = found.iter().any(is_overwritten);
        if states.is_null(slot) {
            found
                .first()
                .and_then(|oldest| self.store.remove(key, oldest.id()));
            let delete = WindowChange::delete(window, window.end, was_stored);
            return self.release_deleted(key, slot, delete, states, out);
        }
        self.replace_oldest(key, found, SessionEntry { extent, slot }, states, out)?;
        let upsert = WindowChange::upsert(window, window.end, slot, was_stored);
        self.emit_update(key, upsert, states, out)
    }

    /// Merges the states of a key's found sessions, oldest first, into one slot. Removes the
    /// younger sessions from the store.
    pub(super) fn merge_found<S: States>(
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
            self.store.remove(key, session.id());
        }
        self.merge_pace(found.iter().map(|session| session.slot), slot);
        Ok(slot)
    }

    /// Merges the stored sessions of each key that touch, oldest first: their gap has become longer.
    pub(crate) fn join_touching<S: States>(&mut self, states: &mut S) -> Result<()> {
        let all = (Time::MIN, Time::MIN)..=(Time::MAX, Time::MAX);
        for key in self.store.keys(None, None).to_vec() {
            let sessions: Vec<SessionEntry> =
                self.store.within(key, all.clone()).copied().collect();
            for found in sessions.chunk_by(|one, next| one.extent.joins(&next.extent)) {
                let [oldest, _, ..] = found else {
                    continue;
                };
                let extents = found.iter().map(|session| session.extent);
                let extent = extents.fold(oldest.extent, |all, own| all.union(&own));
                let window = extent.window();
                let slot = self.merge_found(key, found, window, states)?;
                self.store
                    .replace(key, oldest.id(), SessionEntry { extent, slot });
                if let Some(pace) = &mut self.pace {
                    pace.change(key, WindowChange::upsert(window, window.end, slot, false));
                }
            }
        }
        Ok(())
    }

    /// Stores the merged session in place of the oldest found one. If this replaces a hidden
    /// session with the same bounds (rules 3.4) that is not closed yet, closes that session now.
    pub(super) fn replace_oldest<S: States>(
        &mut self,
        key: StoreKey,
        found: &[SessionEntry],
        session: SessionEntry,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let closed = self.store.closed();
        let replaced = match found.first() {
            Some(oldest) => self.store.replace(key, oldest.id(), session),
            None => self.store.put(key, session),
        };
        if let Some(replaced) = replaced {
            if replaced.due() >= closed {
                self.emit_finals(&[(key, replaced)], states, out)?;
            }
            self.release(replaced.slot, states);
        }
        Ok(())
    }

    /// Counts a late record. Emits it if the query emits late records.
    fn leave_out_late<S: States>(
        &mut self,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        self.counters.late += 1;
        if self.kind.late != Late::Emit {
            return Ok(());
        }
        let window = record.extent.window();
        self.emit_late(record, window, states, out)
    }
}

/// The deletion of a stored session.
pub(super) fn deleted(window: Window) -> WindowChange {
    WindowChange::delete(window, window.end, true)
}
