//! Bounds of windows, and every comparison of them. Bounds are compared here and nowhere else.

use crate::time::{Span, Time};

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
        Self { start: time, end: time, reach: time.saturating_add(gap) }
    }

    /// Whether both belong to one session: distance at most the gap, inclusive (KIP-94, rules 2.1).
    pub fn joins(&self, other: &Self) -> bool {
        self.start <= other.reach && other.start <= self.reach
    }

    /// The extent of both together.
    pub fn union(&self, other: &Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end), reach: self.reach.max(other.reach) }
    }

    /// Whether nothing at or after `frontier` can join any more.
    pub fn closed_before(&self, frontier: Time) -> bool {
        self.reach < frontier
    }

    /// The bounds that a user sees.
    pub fn window(&self) -> Window {
        Window { start: self.start, end: self.end }
    }
}
