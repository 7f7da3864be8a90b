//! The session operator, record by record, as Kafka Streams does it.

use super::merge::{Choice, choose};
use super::rule::{Effective, Rule};
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::error::Result;
use crate::operator::change::{Change, Emit, Late, Op, Sink};
use crate::operator::counters::Counters;
use crate::operator::record::{Fate, Record};
use crate::operator::stream_time::{Now, Progress, Source, StreamTime};
use crate::store::{Entry, Key, SessionEntry, SessionStore};
use crate::time::{Span, Time};
use crate::window::{Extent, Horizon, Window};

/// The sessions of one world, and its stream time.
#[derive(Clone, Debug)]
pub struct Sessions {
    rule: Rule,
    store: SessionStore,
    time: StreamTime,
    counters: Counters,
    found: Vec<SessionEntry>,
}

impl Sessions {
    /// No sessions yet; `inputs` is 1 except for a cogroup.
    pub fn new(rule: Rule, inputs: usize) -> Result<Self> {
        rule.check()?;
        Ok(Self {
            rule,
            store: SessionStore::new(rule.segment()),
            time: StreamTime::new(inputs, rule.grace, Span(1)),
            counters: Counters::default(),
            found: Vec::new(),
        })
    }

    /// The stored sessions, for queries.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    /// The stored sessions, to restore them.
    pub fn store_mut(&mut self) -> &mut SessionStore {
        &mut self.store
    }

    /// Stream time.
    pub fn time(&self) -> &StreamTime {
        &self.time
    }

    /// Stream time, to move it beside the records or to restore it.
    pub fn time_mut(&mut self) -> &mut StreamTime {
        &mut self.time
    }

    /// Goes on where saved state stopped: stream time, how far windows were closed, what was counted.
    /// The stored sessions follow through [`Self::store_mut`].
    pub fn resume(&mut self, progress: impl IntoIterator<Item = Progress>, closed: Time, counters: Counters) {
        self.time.resume(progress);
        self.store.resume(closed);
        self.store.advance(self.horizon(self.time.slowest()));
        self.counters = counters;
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// One record in its order: moves stream time, joins sessions, closes what that closes.
    pub fn push<S: States>(&mut self, record: Record<'_, S::Row>, states: &mut S, out: &mut impl Sink<S>) -> Result<Fate> {
        let Some(name) = record.key else {
            self.counters.null_keys += 1;
            return Ok(Fate::NullKey);
        };
        let Some(time) = record.time else {
            self.counters.null_times += 1;
            return Ok(Fate::NullTime);
        };
        let Some(gap) = self.gap(record.gap) else { return Ok(Fate::BadGap) };
        self.time.observe(record.input, record.source, time);
        let key = self.store.intern(name)?;
        let fate = self.add(key, Extent::of(time, gap), record.row, self.time.now(record.input), states, out)?;
        self.close(self.time.slowest(), states, out)?;
        Ok(fate)
    }

    /// A tick in its order: moves the time of one source, or of all known ones, and closes what that closes.
    pub fn tick<S: States>(
        &mut self,
        input: usize,
        source: Option<Source>,
        time: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let Some(time) = time else {
            self.counters.bad_ticks += 1;
            return Ok(());
        };
        self.counters.ticks += 1;
        match source {
            Some(source) => self.time.observe(input, source, time),
            None => self.time.observe_all(input, time),
        }
        self.close(self.time.slowest(), states, out)
    }

    /// A record's gap in effect, counted; none where it is bad.
    pub fn gap(&mut self, own: Option<i64>) -> Option<Span> {
        match self.rule.gap.of(own) {
            Effective::Asked(gap) => Some(gap),
            Effective::Clamped(gap) => {
                self.counters.clamped_gaps += 1;
                Some(gap)
            }
            Effective::Bad => {
                self.counters.bad_gaps += 1;
                None
            }
        }
    }

    /// One record, judged by `now`. Stream time does not move and nothing closes.
    pub fn add<S: States>(
        &mut self,
        key: Key,
        record: Extent,
        row: S::Row,
        now: Now,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<Fate> {
        self.counters.records += 1;
        self.store.advance(self.horizon(now));
        let mut found = std::mem::take(&mut self.found);
        self.store.joining(key, record, self.rule.gap.longest(), &mut found);
        let fate = match choose(record, found.iter().map(|session| session.extent), now.late) {
            Choice::Late => self.late(key, record.window(), row, states, out).map(|()| Fate::Late),
            Choice::Keep { extent, deletes } => self.keep(key, extent, deletes, &found, row, states, out).map(|()| Fate::Kept),
        };
        self.found = found;
        fate
    }

    /// Merges the found sessions and the record, oldest first, the record last.
    #[expect(clippy::too_many_arguments, reason = "the choice, spelled out")]
    fn keep<S: States>(
        &mut self,
        key: Key,
        extent: Extent,
        deletes: bool,
        found: &[SessionEntry],
        row: S::Row,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let window = extent.window();
        let slot = match found.split_first() {
            None => states.allocate()?,
            Some((oldest, younger)) => {
                let slot = states.adopt(oldest.slot, window)?;
                for session in younger {
                    states.merge(slot, session.slot, window)?;
                    states.release(session.slot);
                }
                slot
            }
        };
        for (nth, session) in found.iter().enumerate() {
            if nth > 0 {
                self.store.remove(key, session.place());
            }
            if deletes {
                self.update(key, session.window(), Op::Delete, None, states, out)?;
            }
        }
        states.update(slot, row, window)?;
        let oldest = found.first().map(SessionEntry::place);
        if states.is_null(slot) {
            oldest.and_then(|oldest| self.store.remove(key, oldest));
            states.release(slot);
            return self.update(key, window, Op::Delete, None, states, out);
        }
        let entry = SessionEntry { extent, slot };
        let replaced = match oldest {
            Some(oldest) => self.store.replace(key, oldest, entry),
            None => self.store.put(key, entry),
        };
        if let Some(replaced) = replaced {
            states.release(replaced.slot);
        }
        self.update(key, window, Op::Upsert, Some(slot), states, out)
    }

    fn update<S: States>(
        &mut self,
        key: Key,
        window: Window,
        op: Op,
        slot: Option<Slot>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        if self.rule.emit != Emit::Update {
            return Ok(());
        }
        self.counters.updates += 1;
        out.emit(Change { key, name: self.store.name(key), window, time: window.end, op, slot }, states)
    }

    /// A record alone, emitted and not stored.
    fn late<S: States>(&mut self, key: Key, window: Window, row: S::Row, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.counters.late += 1;
        if self.rule.late != Late::Emit {
            return Ok(());
        }
        self.counters.late_emitted += 1;
        let slot = states.allocate()?;
        states.update(slot, row, window)?;
        let change = Change { key, name: self.store.name(key), window, time: window.end, op: Op::Late, slot: Some(slot) };
        out.emit(change, states)?;
        states.release(slot);
        Ok(())
    }

    /// Closes the sessions that reach less far than the close time, and drops what is hidden for good.
    pub fn close<S: States>(&mut self, now: Now, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.store.advance(self.horizon(now));
        let closed = self.store.close(now.close);
        self.finals(&closed, states, out)?;
        self.store.expire(|session| states.release(session.slot));
        Ok(())
    }

    /// Closes all sessions: the input has ended.
    pub fn finish<S: States>(&mut self, states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        let pending = self.store.pending();
        self.finals(&pending, states, out)?;
        self.store.clear(|session| states.release(session.slot));
        Ok(())
    }

    fn finals<S: States>(&mut self, closed: &[(Key, SessionEntry)], states: &mut S, out: &mut impl Sink<S>) -> Result<()> {
        self.counters.windows_closed += closed.len() as u64;
        if self.rule.emit != Emit::Close {
            return Ok(());
        }
        for &(key, session) in closed {
            let window = session.window();
            let (name, slot) = (self.store.name(key), Some(session.slot));
            out.emit(Change { key, name, window, time: window.end, op: Op::Final, slot }, states)?;
        }
        Ok(())
    }

    fn horizon(&self, now: Now) -> Horizon {
        Horizon::of_sessions(now.time, now.close, self.rule.until)
    }
}
