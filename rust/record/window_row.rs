//! Stored windows as rows of pages.

use crate::core::aggregate::slot::Slot;
use crate::core::store::{SessionEntry, StoreEntry, WindowEntry};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Window};
use crate::state::page::PageKind;

/// A stored window as a row of a page.
pub(crate) trait WindowRow: StoreEntry {
    /// The kind of its pages.
    const FORM: PageKind;
    /// The value in a time column.
    fn time(&self, column: usize) -> i64;
    /// The window with these times. `None` if they are out of order.
    fn of(times: &[i64], slot: Slot) -> Option<Self>;
    /// When it starts, ends and is due. All three are the start of a sliding window.
    fn extent(&self) -> Extent;
    /// The bounds of the window. `difference` is the time difference of sliding windows.
    fn window(&self, difference: Span) -> Window;
}

impl WindowRow for SessionEntry {
    const FORM: PageKind = PageKind::Sessions;

    fn time(&self, column: usize) -> i64 {
        match column {
            0 => self.extent.start.0,
            1 => self.extent.end.0,
            _ => self.extent.reach.0,
        }
    }

    fn of(times: &[i64], slot: Slot) -> Option<Self> {
        let &[start, end, reach] = times else {
            return None;
        };
        let extent = Extent {
            start: Time(start),
            end: Time(end),
            reach: Time(reach),
        };
        (start <= end && end <= reach).then_some(Self { extent, slot })
    }

    fn extent(&self) -> Extent {
        self.extent
    }

    fn window(&self, _difference: Span) -> Window {
        self.extent.window()
    }
}

impl WindowRow for WindowEntry {
    const FORM: PageKind = PageKind::Windows;

    fn time(&self, column: usize) -> i64 {
        match column {
            0 => self.start.0,
            _ => self.largest.0,
        }
    }

    fn of(times: &[i64], slot: Slot) -> Option<Self> {
        let &[start, largest] = times else {
            return None;
        };
        Some(Self {
            start: Time(start),
            largest: Time(largest),
            slot,
        })
    }

    fn extent(&self) -> Extent {
        Extent::of(self.start, Span(0))
    }

    fn window(&self, difference: Span) -> Window {
        Window::sliding(self.start, difference)
    }
}
