//! Bounds of windows, and every comparison of them. Bounds are compared here and nowhere else.

use crate::core::time::{Span, Time};

/// A window. Both bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// First event of a session; lower bound of a sliding window.
    pub start: Time,
    /// Last event of a session; upper bound of a sliding window.
    pub end: Time,
}

/// A session, or a part of one: its bounds and how far it reaches for the next record.
///
/// ```text
///   start         end          reach = max(t + gap)
///     ├────x───x───┤ ············ ┤
///                               ├────┤   joins: its start is not past the reach (rules 2.1, 3.2)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First event.
    pub start: Time,
    /// Last event.
    pub end: Time,
    /// The last time at which a later record still joins.
    pub reach: Time,
}

impl Extent {
    /// The extent of one record with its gap.
    pub fn of(time: Time, gap: Span) -> Self {
        Self {
            start: time,
            end: time,
            reach: time.saturating_add(gap),
        }
    }

    /// Whether both belong to one session: distance at most the gap, inclusive (KIP-94, rules 2.1).
    pub fn joins(&self, other: &Self) -> bool {
        self.start <= other.reach && other.start <= self.reach
    }

    /// Whether this one starts past the reach of the other.
    pub fn is_past(&self, other: &Self) -> bool {
        self.start > other.reach
    }

    /// The extent of both together.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            reach: self.reach.max(other.reach),
        }
    }

    /// The session with a record that joins it and is not before its end, where no record after `last`
    /// may join it. A record that reaches its own time alone ends the session: nothing later joins
    /// it, so that it is the same however records of one time come.
    ///
    /// ```text
    ///   session   ├─x───x─┤ ······ ┤             ├─x───x─┤ ······ ┤
    ///   record              ├x······ ·····┤                ├x┤
    ///   both      ├─x───x────x────────┤          ├─x───x────x┤
    ///                                last
    /// ```
    pub fn extended(&self, record: &Self, last: Time) -> Self {
        let has_ended = self.reach == self.end || record.reach == record.end;
        let both = self.union(record);
        Self {
            reach: if has_ended {
                both.end
            } else {
                both.reach.min(last)
            },
            ..both
        }
    }

    /// Whether nothing at or after `frontier` can join any more.
    pub fn closed_before(&self, frontier: Time) -> bool {
        self.reach < frontier
    }

    /// The bounds that a user sees.
    pub fn window(&self) -> Window {
        Window {
            start: self.start,
            end: self.end,
        }
    }
}

impl Extent {
    /// Whether a record that makes this extent, merged with what it joins, comes too late: all of
    /// it is behind the close time (rules 2.2, 3.3). Strict: a reach on the close time is in time.
    pub fn is_late(&self, close: Time) -> bool {
        self.closed_before(close)
    }

    /// Whether records can still join a stored session (rules 2.1, 3.3).
    pub fn is_visible(&self, horizon: Horizon) -> bool {
        !self.closed_before(horizon.close) || self.end >= horizon.kept
    }
}

impl Window {
    /// The sliding window that starts at `start`. An end past the latest time is shown as the
    /// latest time; whoever writes it into a column checks `start + difference`.
    ///
    /// ```text
    ///   start              start + difference
    ///     ├──────────────────────┤
    /// ```
    pub fn sliding(start: Time, difference: Span) -> Self {
        Self {
            start,
            end: start.saturating_add(difference),
        }
    }

    /// The window in which a record at `time`, alone, is: its left window, or the early one. Times
    /// before 1970 have no early window (rules 4.2). None where it would start before the earliest
    /// time.
    ///
    /// ```text
    ///   0          difference                0             difference
    ///   ├────────────t───┤ early             ├─────────────────┤
    ///                                              ├───────────t left
    /// ```
    pub fn of_record(time: Time, difference: Span) -> Option<Self> {
        let start = time.checked_sub(difference)?;
        let early = time >= Time(0) && start < Time(0);
        Some(Self::sliding(
            if early { Time(0) } else { start },
            difference,
        ))
    }

    /// Whether a sliding window refuses records: its end is behind the close time (rules 4.3).
    /// Strict: an end on the close time is open.
    pub fn is_late(&self, close: Time) -> bool {
        self.end < close
    }
}

/// What a store shows: how far windows are closed, and since when closed ones are kept.
///
/// ```text
///           kept                 close            stream time
///   hidden  ├  closed but kept ──┤  open ────────────┤
/// ```
///
/// The earliest time as a bound hides or closes nothing: it stands for "no stream time yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Sessions that reach this time, and sliding windows that end at it or later, are open.
    pub close: Time,
    /// Sessions that end at this time or later are visible, closed or not; so are sliding windows
    /// that start at it or later.
    pub kept: Time,
}

impl Horizon {
    /// Nothing is closed or hidden.
    pub const OPEN: Self = Self {
        close: Time::MIN,
        kept: Time::MIN,
    };

    /// For sessions: open ones are visible, and closed ones with `end > time - until`.
    pub fn of_sessions(time: Option<Time>, close: Time, until: Option<Span>) -> Self {
        Self {
            close,
            kept: until.map_or(Time::MAX, |until| first_after(time, until)),
        }
    }

    /// For sliding windows: visible with `start > time - retention` (rules 4.4), and open ones
    /// always: after a restart with a shorter grace these may start before, until the next batch
    /// catches up.
    pub fn of_windows(time: Option<Time>, close: Time, retention: Span, difference: Span) -> Self {
        Self {
            close,
            kept: first_after(time, retention).min(starts_closed_before(close, difference)),
        }
    }

    /// For the times of records that windows which end at others hold: visible as long as one of these
    /// windows ends at `close` or later.
    pub fn of_times(close: Time, difference: Span) -> Self {
        let kept = starts_closed_before(close, difference);
        Self { close, kept }
    }

    /// Whether a stored sliding window can still be touched.
    pub fn shows(&self, start: Time) -> bool {
        start >= self.kept
    }

    /// Everything that ends (sessions) or starts (sliding windows) before this is hidden for good.
    pub fn expired(&self) -> Time {
        self.kept.min(self.close)
    }
}

/// The first time that is later than `time - span`: exact also where the difference has no
/// representation.
fn first_after(time: Option<Time>, span: Span) -> Time {
    match (time, span.0.checked_sub(1)) {
        (Some(time), Some(less)) => time.saturating_sub(Span(less)),
        (Some(time), None) => time.saturating_add(Span(1)),
        (None, _) => Time::MIN,
    }
}

/// The close time: `time - grace`, and never before `closed`, how far it was already (rules 1.7).
///
/// Sessions are compared with it by their reach, so a fixed gap is already in it.
pub fn close_time(time: Time, grace: Span, closed: Time) -> Time {
    closed.max(time.saturating_sub(grace))
}

/// Sliding windows that start before this have ended before `close`.
pub fn starts_closed_before(close: Time, difference: Span) -> Time {
    close.saturating_sub(difference)
}
