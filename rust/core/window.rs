//! Window bounds. Whether windows join, are late or are closed is decided here.

use crate::core::time::{Span, Time};

/// A window. Both bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// First time of a session, or lower bound of a sliding window.
    pub start: Time,
    /// Latest end of a session, or upper bound of a sliding window.
    pub end: Time,
}

/// A session or a part of one: its bounds, and how far it reaches for the next record. A record
/// without an end of its own ends at its time.
///
/// ```text
///   start         end          reach = max(end + gap)
///     ├────x───x───┤ ············ ┤
///                               ├────┤   joins: its start is not past the reach (rules 2.1, 3.2)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first time of its records.
    pub start: Time,
    /// The latest end of its records.
    pub end: Time,
    /// The last time at which a later record can still join.
    pub reach: Time,
}

impl Extent {
    /// The extent of one record with its gap.
    pub fn of(time: Time, gap: Span) -> Self {
        Self::lasting(time, time, gap)
    }

    /// The extent of one record with an end of its own.
    pub fn lasting(time: Time, end: Time, gap: Span) -> Self {
        Self {
            start: time,
            end,
            reach: end.saturating_add(gap),
        }
    }

    /// Whether both belong to one session. Their distance is at most the gap, inclusive (KIP-94,
    /// rules 2.1).
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

    /// Whether nothing at or after `frontier` can still join.
    pub fn closed_before(&self, frontier: Time) -> bool {
        self.reach < frontier
    }

    /// The bounds that the user sees.
    pub fn window(&self) -> Window {
        Window {
            start: self.start,
            end: self.end,
        }
    }
}

impl Extent {
    /// Whether a record is too late. This extent is the record merged with everything it joins, and
    /// it is late if its reach is before the close time (rules 2.2, 3.3). The comparison is strict:
    /// a reach equal to the close time is in time.
    pub fn is_late(&self, close: Time) -> bool {
        self.closed_before(close)
    }

    /// Whether records can still join this stored session (rules 2.1, 3.3).
    pub fn is_visible(&self, horizon: Horizon) -> bool {
        !self.closed_before(horizon.close) || self.end >= horizon.kept
    }
}

impl Window {
    /// The sliding window that starts at `start`. An end past the latest time shows as the latest
    /// time. Code that writes the end into a column must check `start + difference`.
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

    /// The window of a record at `time` without neighbors: its left window, or the early window.
    /// Times before 1970 have no early window (rules 4.2). `None` if the window would start before
    /// the earliest time.
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

    /// Whether a sliding window refuses records because its end is before the close time (rules
    /// 4.3). The comparison is strict: a window that ends at the close time is open.
    pub fn is_late(&self, close: Time) -> bool {
        self.end < close
    }
}

/// What a store shows: how far windows are closed, and from when on closed windows stay visible.
///
/// ```text
///           kept                 close            stream time
///   hidden  ├  closed but kept ──┤  open ────────────┤
/// ```
///
/// A bound equal to the earliest time hides or closes nothing. It means "no stream time yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Sessions are open if they reach this time. Sliding windows are open if they end at this time
    /// or later.
    pub close: Time,
    /// Sessions that end at this time or later are visible, even if closed. So are sliding windows
    /// that start at this time or later.
    pub kept: Time,
}

impl Horizon {
    /// Nothing is closed or hidden.
    pub const OPEN: Self = Self {
        close: Time::MIN,
        kept: Time::MIN,
    };

    /// For sessions. Open sessions are visible, and so are closed ones with `end > time - until`.
    pub fn of_sessions(time: Option<Time>, close: Time, until: Option<Span>) -> Self {
        Self {
            close,
            kept: until.map_or(Time::MAX, |until| first_after(time, until)),
        }
    }

    /// For sliding windows. A window is visible if `start > time - retention` (rules 4.4) or if it
    /// is open. After a restart with a shorter grace, open windows may start before that bound
    /// until the next batch catches up.
    pub fn of_windows(time: Option<Time>, close: Time, retention: Span, difference: Span) -> Self {
        Self {
            close,
            kept: first_after(time, retention).min(starts_closed_before(close, difference)),
        }
    }

    /// For the stored times of records, used for windows that end at records. A time is visible
    /// while a window that contains it can end at `close` or later.
    pub fn of_times(close: Time, difference: Span) -> Self {
        let kept = starts_closed_before(close, difference);
        Self { close, kept }
    }

    /// Whether a record can still touch this stored sliding window.
    pub fn shows(&self, start: Time) -> bool {
        start >= self.kept
    }

    /// Sessions that end before this time, and sliding windows that start before it, are hidden for
    /// good.
    pub fn expired(&self) -> Time {
        self.kept.min(self.close)
    }
}

/// The first time later than `time - span`. It is exact even if the difference is not
/// representable.
fn first_after(time: Option<Time>, span: Span) -> Time {
    match (time, span.0.checked_sub(1)) {
        (Some(time), Some(less)) => time.saturating_sub(Span(less)),
        (Some(time), None) => time.saturating_add(Span(1)),
        (None, _) => Time::MIN,
    }
}

/// The close time: `time - grace`, but never before the earlier close time `closed` (rules 1.7).
///
/// Sessions compare their reach with it, and the reach already includes the gap.
pub(crate) fn close_time(time: Time, grace: Span, closed: Time) -> Time {
    closed.max(time.saturating_sub(grace))
}

/// Sliding windows that start before this time have ended before `close`.
pub(crate) fn starts_closed_before(close: Time, difference: Span) -> Time {
    close.saturating_sub(difference)
}
