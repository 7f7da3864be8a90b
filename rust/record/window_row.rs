//! Stored windows as rows of pages.

use crate::core::aggregate::slot::Slot;
use crate::core::operator::session_end::{EndedBy, SessionEnd};
use crate::core::session::cut::CutSession;
use crate::core::session::cut_operator::CutEntry;
use crate::core::store::{SessionEntry, StoreEntry, WindowEntry};
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::state::page::PageKind;

/// A stored window as a row of a page.
pub(crate) trait WindowRow: StoreEntry {
    /// The kind of its pages.
    const KIND: PageKind;
    /// The value in a time column.
    fn time(&self, column: usize) -> i64;
    /// The window with these times. `None` if they are out of order.
    fn of(times: &[i64], slot: Slot) -> Option<Self>;
    /// What users see of the end of an open session.
    fn end(&self) -> SessionEnd {
        SessionEnd::default()
    }
}

impl WindowRow for SessionEntry {
    const KIND: PageKind = PageKind::Sessions;

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
}

impl WindowRow for WindowEntry {
    const KIND: PageKind = PageKind::Windows;

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
}

/// The bits of the last time column of sessions that rules end. The ordinal is above them.
const STARTS_SESSION: i64 = 1;
const ENDS_SESSION: i64 = 2;
const VALUES_DIFFER: i64 = 4;
const IS_WAITING: i64 = 8;
const ORDINAL_SHIFT: u32 = 8;

impl WindowRow for CutEntry {
    const KIND: PageKind = PageKind::CutSessions;

    fn time(&self, column: usize) -> i64 {
        let session = &self.session;
        let flag = |is_set: bool, flag: i64| if is_set { flag } else { 0 };
        match column {
            0 => session.start.0,
            1 => session.end.0,
            2 => self.due.0,
            3 => session.reach.0,
            4 => session.border.0,
            5 => session.tie.cast_signed(),
            6 => session.count.cast_signed(),
            7 => session.values.unwrap_or_default().cast_signed(),
            _ => {
                flag(session.begins, STARTS_SESSION)
                    | flag(session.ends, ENDS_SESSION)
                    | flag(session.values.is_none(), VALUES_DIFFER)
                    | flag(self.waits, IS_WAITING)
                    | i64::from(session.ordinal) << ORDINAL_SHIFT
            }
        }
    }

    fn of(times: &[i64], slot: Slot) -> Option<Self> {
        let &[start, end, due, reach, border, tie, count, values, flags] = times else {
            return None;
        };
        let session = CutSession {
            start: Time(start),
            end: Time(end),
            reach: Time(reach),
            border: Time(border),
            tie: tie.cast_unsigned(),
            count: count.cast_unsigned(),
            values: (flags & VALUES_DIFFER == 0).then_some(values.cast_unsigned()),
            begins: flags & STARTS_SESSION != 0,
            ends: flags & ENDS_SESSION != 0,
            ordinal: u32::try_from(flags >> ORDINAL_SHIFT).ok()?,
        };
        let is_ordered = start <= end && end <= reach && start <= due;
        is_ordered.then_some(Self {
            session,
            due: Time(due),
            waits: flags & IS_WAITING != 0,
            slot,
        })
    }

    fn end(&self) -> SessionEnd {
        self.session.ended(EndedBy::Open)
    }
}
