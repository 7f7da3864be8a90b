//! One stored window.

use crate::aggregate::slot::Slot;
use crate::time::{Span, Time};
use crate::window::{Extent, Horizon, Window};

/// A stored window of some kind.
pub trait Entry: Clone + std::fmt::Debug {
    /// Where it stands among the windows of its key.
    type Place: Copy + Ord + std::fmt::Debug;

    /// Its place; no two windows of a key have the same.
    fn place(&self) -> Self::Place;

    /// The time that its place goes by first, at most `due`.
    fn order(&self) -> Time;

    /// Where its states stand.
    fn slot(&self) -> Slot;

    /// The largest time of its records.
    fn largest(&self) -> Time;

    /// What segments go by. A window is closed and expires in the order of this time.
    fn due(&self) -> Time;

    /// Whether a record or a query may see it.
    fn is_visible(&self, horizon: Horizon) -> bool;

    /// By how much it is due after the time of its order.
    fn lead(&self) -> Span {
        Span(self.due().0.abs_diff(self.order().0))
    }
}

/// A stored session. The largest time of its records is its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    /// Its bounds and its reach.
    pub extent: Extent,
    /// Its states.
    pub slot: Slot,
}

impl SessionEntry {
    /// The bounds that a user sees.
    pub fn window(&self) -> Window {
        self.extent.window()
    }
}

/// End, then start: rules 6.9.
impl Entry for SessionEntry {
    type Place = (Time, Time);

    fn place(&self) -> Self::Place {
        (self.extent.end, self.extent.start)
    }

    fn order(&self) -> Time {
        self.extent.end
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn largest(&self) -> Time {
        self.extent.end
    }

    fn due(&self) -> Time {
        self.extent.reach
    }

    fn is_visible(&self, horizon: Horizon) -> bool {
        self.extent.is_visible(horizon)
    }
}

/// A stored sliding window. Its end is its start and the time difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowEntry {
    /// Lower bound.
    pub start: Time,
    /// The largest time of its records.
    pub largest: Time,
    /// Its states.
    pub slot: Slot,
}

impl Entry for WindowEntry {
    type Place = Time;

    fn place(&self) -> Self::Place {
        self.start
    }

    fn order(&self) -> Time {
        self.start
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn largest(&self) -> Time {
        self.largest
    }

    fn due(&self) -> Time {
        self.start
    }

    fn is_visible(&self, horizon: Horizon) -> bool {
        horizon.shows(self.start)
    }
}
