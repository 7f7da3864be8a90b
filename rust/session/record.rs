//! The session operator, record by record, as Kafka Streams does it.

use super::decide::{Choice, choose};
use super::windows::Rule;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::{Emit, Late, Sink};
use crate::operator::record::{Arrival, Effective, Fate};
use crate::operator::stream_time::Now;
use crate::operator::window_operator::{Changed, Kind, World};
use crate::store::{Entry, Key, SessionEntry};
use crate::time::{Span, Time};
use crate::window::{Extent, Horizon, Window};

/// The sessions of one world, and its stream time.
pub type Sessions = World<Rule>;

impl Kind for Rule {
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

    fn add<S: States>(world: &mut Sessions, arrival: Arrival<S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<Fate> {
        let record = Extent::of(arrival.time, arrival.gap);
        let mut found = std::mem::take(&mut world.scratch);
        world.store.joining(arrival.key, record, world.rule.gap.longest(), &mut found);
        let fate = match choose(record, found.iter().map(|session| session.extent), arrival.late) {
            Choice::Late => world.late(arrival, states, out).map(|()| Fate::Late),
            Choice::Keep { extent, deletes } => world.keep(arrival, extent, deletes, &found, states, out).map(|()| Fate::Kept),
        };
        world.scratch = found;
        fate
    }
}

impl Sessions {
    /// Merges the found sessions and the record, oldest first, the record last.
    fn keep<S: States>(
        &mut self,
        arrival: Arrival<S::Row>,
        extent: Extent,
        deletes: bool,
        found: &[SessionEntry],
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let (key, window) = (arrival.key, extent.window());
        let slot = self.gather(key, found, window, states)?;
        for session in found.iter().filter(|_| deletes) {
            let (window, time) = (session.window(), session.extent.end);
            self.changed(Changed { key, window, time, slot: None, known: true }, states, out)?;
        }
        states.update(slot, arrival.row, window)?;
        let known = found.iter().any(|session| session.window() == window);
        let changed = Changed { key, window, time: window.end, slot: Some(slot), known };
        if states.is_null(slot) {
            found.first().and_then(|oldest| self.store.remove(key, oldest.place()));
            states.release(slot);
            return self.changed(Changed { slot: None, ..changed }, states, out);
        }
        self.put(key, found, SessionEntry { extent, slot }, states);
        self.changed(changed, states, out)
    }

    /// Merges the states of the found sessions of a key, oldest first, into one slot. The younger ones leave the store.
    pub(super) fn gather<S: States>(&mut self, key: Key, found: &[SessionEntry], window: Window, states: &mut S) -> Result<Slot> {
        let Some((oldest, younger)) = found.split_first() else { return states.allocate() };
        let slot = states.adopt(oldest.slot, window)?;
        for session in younger {
            states.merge(slot, session.slot, window)?;
            states.release(session.slot);
            self.store.remove(key, session.place());
        }
        Ok(slot)
    }

    /// Stores what was gathered from the found sessions in the stead of the oldest.
    pub(super) fn put<S: States>(&mut self, key: Key, found: &[SessionEntry], session: SessionEntry, states: &mut S) {
        let replaced = match found.first() {
            Some(oldest) => self.store.replace(key, oldest.place(), session),
            None => self.store.put(key, session),
        };
        if let Some(replaced) = replaced {
            states.release(replaced.slot);
        }
    }

    fn late<S: States>(&mut self, arrival: Arrival<S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.counters.late += 1;
        if self.rule.late != Late::Emit {
            return Ok(());
        }
        let instant = Window { start: arrival.time, end: arrival.time };
        self.alone(arrival, instant, states, out)
    }
}
