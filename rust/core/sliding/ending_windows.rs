//! Windows `[t - d, t]` that end at the records of a stream, on either side of 1970.
//!
//! The store has the times of records, each with the states of its records, as a window that starts
//! at that time. This window spans the ends of all windows that contain these records.
//!
//! ```text
//!   times stored   ├──x──┼──────┼────────┼─x──────┼──x─┤
//!   of a record              t - d ├───── x ────── t        merges the states of its times
//!   of a time                      x ├────────────── x + d ┤  closed: no later record sees it
//! ```
//!
//! A record is late if the window that ends at it is late (rules 4.3). A late record changes
//! nothing.

use super::plan::beyond_time;
use super::sliding_operator::SlidingOperator;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::store::{StoreKey, WindowEntry};
use crate::core::time::Time;
use crate::core::window::Window;

impl SlidingOperator {
    /// The window that ends at a record of this time. If the times `now` say that it is late, counts
    /// the record and returns `None`.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::TimeOverflow`] if the window starts before the earliest time.
    pub fn window_at(&mut self, time: Time, now: StreamTimes) -> Result<Option<Window>> {
        let sliding = self.kind.sliding;
        let end = time.floor(sliding.resolution);
        let start = end.and_then(|end| end.checked_sub(sliding.difference));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(beyond_time(time));
        };
        let window = Window { start, end };
        let is_late = window.is_late(now.input_close);
        self.counters.late += u64::from(is_late);
        Ok((!is_late).then_some(window))
    }

    /// Adds a record to the stored time at the end of its window.
    pub fn add_at_end<S: States>(
        &mut self,
        key: StoreKey,
        window: Window,
        row: S::Row,
        states: &mut S,
    ) -> Result<()> {
        let time = window.end;
        let known = self.store.entry(key, time).map(|entry| entry.slot);
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = states.allocate()?;
                let entry = WindowEntry {
                    start: time,
                    largest: time,
                    slot,
                };
                self.put(key, entry, states);
                slot
            }
        };
        states.update(slot, row, window)
    }

    /// The stored times in a window, ascending.
    pub fn times_in(&self, key: StoreKey, window: Window) -> impl Iterator<Item = &WindowEntry> {
        self.store.within(key, window.start..=window.end)
    }
}
