//! Sessions that rules end, record by record (rules 2.7).
//!
//! Such a session depends on the order of its records. So records wait in the store until no
//! earlier one can come. A record before the close time of its input is late, even if it could join
//! a session.
//!
//! ```text
//!                        close time
//!   ├─x──x─┤├─x─x┤            │      joined, in the order of time: the last session of the key ...
//!                  x      x   │ x    ... and the records that wait; two of them are joined next
//! ```

use super::cut::{Cut, CutSession};
use super::session_windows::Gap;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Emit, Late, Op, Sink, WindowChange};
use crate::core::operator::record::{KeyedRecord, RecordOutcome};
use crate::core::operator::session_end::EndedBy;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::store::{StoreEntry, StoreKey};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon, Window};

/// The sessions, the waiting records and the stream time of one stream.
pub(crate) type CutOperator = WindowOperator<CutWindows>;

/// A query of such sessions. Lengths are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutWindows {
    /// The inactivity gap.
    pub gap: Gap,
    /// The rules.
    pub cut: Cut,
    /// How long records wait for earlier ones. `None` means for ever.
    pub grace: Option<Span>,
    /// When sessions are emitted: only as finals.
    pub emit: Emit,
    /// What happens to late records.
    pub late: Late,
    /// Whether the last session of a key stays until the end of the input, which may show that it
    /// has not ended.
    pub keeps_last: bool,
    /// Length of a store's segments. `None` means an eighth of gap + grace.
    pub segment: Option<Span>,
}

/// The last session of a key, or waiting records of one time and tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutEntry {
    /// The session or the records.
    pub session: CutSession,
    /// When waiting records can be joined, and when a session is final without a next record.
    pub due: Time,
    /// Whether these are waiting records.
    pub waits: bool,
    /// The states.
    pub slot: Slot,
}

/// The id is the start, and the tie of the last records. A session and the records that wait after it
/// have other starts.
impl StoreEntry for CutEntry {
    type Id = (Time, u64);

    fn id(&self) -> Self::Id {
        (self.session.start, self.session.tie)
    }

    fn sort_time(&self) -> Time {
        self.session.start
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn extent(&self) -> Extent {
        Extent {
            reach: self.due,
            ..self.session.extent()
        }
    }
}

/// A session that has ended, and why.
type Final = (StoreKey, CutSession, Slot, EndedBy);

impl WindowKind for CutWindows {
    type Entry = CutEntry;
    type Scratch = ();

    fn check(&self) -> Result<()> {
        if self.emit == Emit::Update {
            return Err(Error::Argument {
                argument: "emit".into(),
                got: "update".into(),
                allowed: "close, for sessions that rules end: an earlier record may still arrive and move their ends"
                    .into(),
            });
        }
        Ok(())
    }

    fn segment(&self) -> Span {
        let Some(grace) = self.grace else {
            return Span(u64::MAX);
        };
        let own = || Span((self.gap.longest().saturating_add(grace).0 / 8).max(1));
        self.segment.unwrap_or_else(own)
    }

    fn grace(&self) -> Option<Span> {
        self.grace
    }

    fn emit(&self) -> Emit {
        self.emit
    }

    fn horizon(&self, now: StreamTimes) -> Horizon {
        Horizon::of_sessions(now.time, now.close, None)
    }

    /// That of a session without ties. Nothing asks for it, as there are no updates.
    fn id(window: Window) -> (Time, u64) {
        (window.start, 0)
    }

    fn add<S: States>(
        operator: &mut CutOperator,
        record: KeyedRecord<S::Row>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<RecordOutcome> {
        let session = CutSession::of(record.extent, record.rule);
        if record.is_behind() {
            operator.counters.late += 1;
            if operator.kind.late == Late::Emit {
                operator.emit_late(record, session.window(), states, out)?;
            }
            return Ok(RecordOutcome::Late(record.input_close.since(record.time())));
        }
        let mut entry = CutEntry {
            session,
            due: record.time(),
            waits: true,
            slot: Slot(0),
        };
        match operator.store.get(record.key, entry.id()) {
            Some(others) if others.waits => {
                entry.slot = others.slot;
                entry.session.add_together(&others.session);
            }
            _ => entry.slot = states.allocate()?,
        }
        states.update(entry.slot, record.row, session.window())?;
        operator.store.put(record.key, entry);
        Ok(RecordOutcome::Accepted)
    }

    fn close<S: States>(
        operator: &mut CutOperator,
        now: StreamTimes,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        operator.store.advance(operator.kind.horizon(now));
        let due = operator.store.close(now.close);
        operator.join_due(due, Some(now.close), states, out)?;
        operator.store.expire(|entry| states.release(entry.slot));
        Ok(())
    }

    fn finish<S: States>(
        operator: &mut CutOperator,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let pending = operator.store.pending();
        operator.join_due(pending, None, states, out)?;
        operator.store.clear(|entry| states.release(entry.slot));
        Ok(())
    }
}

impl CutOperator {
    /// Joins waiting records that are due with the sessions before them, and emits the sessions
    /// that have ended: all of them at the end of the input, where `close` is `None`.
    fn join_due<S: States>(
        &mut self,
        mut due: Vec<(StoreKey, CutEntry)>,
        close: Option<Time>,
        states: &mut S,
        out: &mut impl Sink<S>,
    ) -> Result<()> {
        let mut finals = Vec::new();
        due.sort_by_key(|(key, _)| key.0);
        for of_key in due.chunk_by(|(left, _), (right, _)| left == right) {
            let Some(&(key, _)) = of_key.first() else {
                continue;
            };
            self.join_key(key, of_key, close, states, &mut finals)?;
        }
        finals.sort_by(|(one, first, ..): &Final, (other, second, ..)| {
            let names = (self.store.name(*one), self.store.name(*other));
            let order = |session: &CutSession| (session.end, session.start, session.tie);
            order(first).cmp(&order(second)).then(names.0.cmp(names.1))
        });
        self.counters.windows_closed += finals.len() as u64;
        for (key, session, slot, ended_by) in finals {
            let last = WindowChange {
                window: session.window(),
                time: session.end,
                op: Op::Final,
                slot: Some(slot),
                was_stored: true,
                end: session.ended(ended_by),
            };
            self.emit(key, last, states, out)?;
            states.release(slot);
        }
        Ok(())
    }

    /// Joins the waiting records of a key that are due. They are in the order of time.
    fn join_key<S: States>(
        &mut self,
        key: StoreKey,
        due: &[(StoreKey, CutEntry)],
        close: Option<Time>,
        states: &mut S,
        finals: &mut Vec<Final>,
    ) -> Result<()> {
        let cut = self.kind.cut;
        let waiting = due.iter().filter(|(_, entry)| entry.waits);
        let mut of_key = due.iter().map(|(_, entry)| entry);
        let mut last = of_key.find(|entry| !entry.waits).copied();
        if last.is_none() {
            let all = (Time::MIN, u64::MIN)..=(Time::MAX, u64::MAX);
            let mut others = self.store.within(key, all);
            last = others.next().filter(|entry| !entry.waits).copied();
        }
        if let Some(last) = &last {
            self.store.remove(key, last.id());
        }
        for (_, next) in waiting {
            self.store.remove(key, next.id());
            let ended = last.and_then(|last| cut.ended_by(&last.session, &next.session));
            last = Some(match (last, ended) {
                (Some(mut last), None) => {
                    cut.extend(&mut last.session, &next.session);
                    states.merge(last.slot, next.slot, last.session.window())?;
                    states.release(next.slot);
                    last
                }
                (before, ended) => {
                    let session =
                        cut.begin(next.session, before.as_ref().map(|last| &last.session));
                    if let (Some(before), Some(ended)) = (before, ended) {
                        finals.push((key, before.session, before.slot, ended));
                    }
                    CutEntry {
                        session,
                        waits: false,
                        ..*next
                    }
                }
            });
        }
        let Some(last) = last else {
            return Ok(());
        };
        let own_end = cut.own_end(&last.session);
        let at_last = if own_end.is_some() {
            last.session.end
        } else {
            last.session.reach
        };
        let due = if self.kind.keeps_last {
            Time::MAX
        } else {
            at_last
        };
        match close {
            Some(close) if due >= close => {
                self.store.put(key, CutEntry { due, ..last });
            }
            _ => {
                let silence = if close.is_some() {
                    EndedBy::Gap
                } else {
                    EndedBy::Open
                };
                finals.push((key, last.session, last.slot, own_end.unwrap_or(silence)));
            }
        }
        Ok(())
    }
}
