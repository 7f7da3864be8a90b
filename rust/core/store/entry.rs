//! Stored windows.

use crate::core::aggregate::slot::Slot;
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon, Window};

/// A stored window of some kind.
pub trait StoreEntry: Clone + std::fmt::Debug {
    /// Identifies a window of a key. Windows sort by it (rules 6.9).
    type Id: Copy + Ord + std::fmt::Debug;

    /// Its id, unique among the windows of its key.
    fn id(&self) -> Self::Id;

    /// The first time in its id. At most `due`.
    fn sort_time(&self) -> Time;

    /// The slot of its states.
    fn slot(&self) -> Slot;

    /// When it starts, ends and is due. All three are the start of a sliding window.
    fn extent(&self) -> Extent;

    /// The largest time of its records.
    fn largest(&self) -> Time {
        self.extent().end
    }

    /// The time that selects its segment. Windows close and expire in the order of this time.
    fn due(&self) -> Time {
        self.extent().reach
    }

    /// Whether records and queries can see it.
    fn is_visible(&self, horizon: Horizon) -> bool {
        self.extent().is_visible(horizon)
    }

    /// The distance from its sort time to its due time.
    fn lead(&self) -> Span {
        Span(self.due().0.abs_diff(self.sort_time().0))
    }
}

/// A stored session. Its end is the largest time of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    /// Its bounds and its reach.
    pub extent: Extent,
    /// Its states.
    pub slot: Slot,
}

impl SessionEntry {
    /// The bounds that the user sees.
    pub fn window(&self) -> Window {
        self.extent.window()
    }
}

/// The id is (end, start) (rules 6.9).
impl StoreEntry for SessionEntry {
    type Id = (Time, Time);

    fn id(&self) -> Self::Id {
        (self.extent.end, self.extent.start)
    }

    fn sort_time(&self) -> Time {
        self.extent.end
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn extent(&self) -> Extent {
        self.extent
    }
}

/// A stored sliding window. Its end is its start plus the time difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowEntry {
    /// Lower bound.
    pub start: Time,
    /// The largest time of its records.
    pub largest: Time,
    /// Its states.
    pub slot: Slot,
}

impl StoreEntry for WindowEntry {
    type Id = Time;

    fn id(&self) -> Self::Id {
        self.start
    }

    fn sort_time(&self) -> Time {
        self.start
    }

    fn slot(&self) -> Slot {
        self.slot
    }

    fn extent(&self) -> Extent {
        Extent::of(self.start, Span(0))
    }

    fn largest(&self) -> Time {
        self.largest
    }

    fn is_visible(&self, horizon: Horizon) -> bool {
        horizon.shows(self.start)
    }
}
