//! Stored windows as rows of pages.

use super::page::PageKind;
use crate::core::aggregate::slot::Slot;
use crate::core::store::{SessionEntry, StoreEntry, WindowEntry};
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Window};

/// A stored window as a row of a page.
pub(crate) trait WindowRow: StoreEntry {
    /// What its pages hold.
    const FORM: PageKind;
    /// Names of its columns, before `source`.
    const COLUMNS: &'static [&'static str];
    /// The cell of one of these columns.
    fn time(&self, column: usize) -> i64;
    /// The window of such cells; none where they are not in order.
    fn of(times: &[i64], slot: Slot) -> Option<Self>;
    /// Its start, and its greatest time.
    fn bounds(&self) -> (Time, Time);
    /// Its window; `difference` is that of sliding windows.
    fn window(&self, difference: Span) -> Window;
}

impl WindowRow for SessionEntry {
    const FORM: PageKind = PageKind::Sessions;
    const COLUMNS: &'static [&'static str] = &["start", "end", "reach"];

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

    fn bounds(&self) -> (Time, Time) {
        (self.extent.start, self.extent.reach)
    }

    fn window(&self, _difference: Span) -> Window {
        self.extent.window()
    }
}

impl WindowRow for WindowEntry {
    const FORM: PageKind = PageKind::Windows;
    const COLUMNS: &'static [&'static str] = &["start", "largest"];

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

    fn bounds(&self) -> (Time, Time) {
        (self.start, self.start)
    }

    fn window(&self, difference: Span) -> Window {
        Window::sliding(self.start, difference)
    }
}
