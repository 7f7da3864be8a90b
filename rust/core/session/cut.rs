//! Rules that end sessions even though no gap passed (rules 2.7).
//!
//! ```text
//!   records     0   4   8   12     16        gap 5, none longer than 10
//!   sessions    [0,8] [12,16]                12 is more than 10 after 0
//!   12 begins   [0,8] [12,16]                the gap did not pass, and 12 begins a session as well
//! ```
//!
//! The records of a key are taken by (time, tie). Those with the same time and tie are together:
//! they are one [`CutSession`] without a length, which joins the session before it or begins the
//! next one.

use super::day_borders::DayBorders;
use crate::core::operator::record::RecordRule;
use crate::core::operator::session_end::{EndedBy, SessionEnd};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Window};

/// The rules of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// `max_duration`: the longest distance from a session's start to its end, with the next records; none: any.
    pub longest: Option<Span>,
    /// `max_records`: the largest number of records; none: any.
    pub most: Option<u64>,
    /// Where days end, which ends sessions too.
    pub borders: Option<DayBorders>,
}

/// A session, or the records of one time and tie. Each field is a column of pages, so a new one
/// changes the format (`record/window_row.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutSession {
    /// The time of its first records.
    pub start: Time,
    /// The latest end of its records.
    pub end: Time,
    /// The last time that the gaps of its records reach.
    pub reach: Time,
    /// The tie of its last records.
    pub tie: u64,
    /// The number of records.
    pub count: u64,
    /// The values of its last records; none if they differ.
    pub values: Option<u64>,
    /// Whether its first records begin a session.
    pub begins: bool,
    /// Whether its last records end it.
    pub ends: bool,
    /// How many sessions of the key with the same start come before it.
    pub ordinal: u32,
    /// The first border of a day after its start; the earliest time if there is none.
    pub(crate) border: Time,
}

impl CutSession {
    /// One record. If it ends its session, it reaches no further than itself.
    pub fn of(own: Extent, rule: RecordRule) -> Self {
        Self {
            start: own.start,
            end: own.end,
            reach: if rule.ends { own.end } else { own.reach },
            tie: rule.tie,
            count: 1,
            values: Some(rule.mark & !1),
            begins: rule.mark & 1 == 1,
            ends: rule.ends,
            ordinal: 0,
            border: Time::MIN,
        }
    }

    /// Adds records of the same time and tie.
    pub fn add_together(&mut self, other: &Self) {
        self.end = self.end.max(other.end);
        self.reach = self.reach.max(other.reach);
        self.count += other.count;
        self.values = self.values.filter(|_| self.values == other.values);
        self.begins |= other.begins;
        self.ends |= other.ends;
    }

    /// Its bounds, and how far the gaps of its records reach.
    pub fn extent(&self) -> Extent {
        Extent {
            start: self.start,
            end: self.end,
            reach: self.reach,
        }
    }

    /// The bounds that the user sees.
    pub fn window(&self) -> Window {
        Window {
            start: self.start,
            end: self.end,
        }
    }

    /// What the user sees of its end.
    pub fn ended(&self, ended_by: EndedBy) -> SessionEnd {
        SessionEnd {
            ordinal: self.ordinal,
            ended_by: Some(ended_by),
        }
    }
}

impl Cut {
    /// The session that these records begin, after the session `before` of their key.
    pub fn begin(&self, next: CutSession, before: Option<&CutSession>) -> CutSession {
        let twin = before.filter(|before| before.start == next.start);
        let borders = self.borders;
        CutSession {
            ordinal: twin.map_or(next.ordinal, |before| before.ordinal + 1),
            border: borders
                .and_then(|borders| borders.next(next.start))
                .unwrap_or(Time::MIN),
            ..next
        }
    }

    /// Adds the next records to a session that they do not end.
    pub fn extend(&self, session: &mut CutSession, next: &CutSession) {
        session.end = session.end.max(next.end);
        session.reach = session.reach.max(next.reach);
        session.tie = next.tie;
        session.count += next.count;
        session.values = next.values;
        session.ends = next.ends;
    }

    /// Why a session ends, no matter which record is next.
    pub fn own_end(&self, session: &CutSession) -> Option<EndedBy> {
        if session.ends {
            return Some(EndedBy::EndWhen);
        }
        let is_full = self.most.is_some_and(|most| session.count >= most);
        is_full.then_some(EndedBy::MaxRecords)
    }

    /// Why a session ends before the next records of its key; none if they belong to it.
    pub fn ended_by(&self, session: &CutSession, next: &CutSession) -> Option<EndedBy> {
        if let Some(own_end) = self.own_end(session) {
            return Some(own_end);
        }
        let length = session.end.max(next.end).since(session.start);
        if next.start > session.reach {
            Some(EndedBy::Gap)
        } else if next.begins {
            Some(EndedBy::StartWhen)
        } else if session.values.is_none() || session.values != next.values {
            Some(EndedBy::CutOn)
        } else if session.border > Time::MIN && next.start >= session.border {
            Some(EndedBy::CutAt)
        } else if self.longest.is_some_and(|longest| length > longest) {
            Some(EndedBy::MaxDuration)
        } else {
            None
        }
    }

    /// A time after which no record can join.
    pub fn last_time(&self, session: &CutSession) -> Time {
        let mut last = session.reach;
        if self.own_end(session).is_some() {
            last = session.end;
        }
        if let Some(longest) = self.longest {
            last = last.min(session.start.saturating_add(longest));
        }
        if session.border > Time::MIN {
            last = last.min(session.border.saturating_sub(Span(1)));
        }
        last
    }
}
