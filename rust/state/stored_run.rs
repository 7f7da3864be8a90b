//! A run: sorted windows of a segment, cut into pages. Its statistics need no page.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hexadecimal;
use super::page::{PageId, PageName};
use crate::core::time::Time;
use crate::core::window::Extent;

/// The pages that a micro-batch changes. `None` deletes a page.
pub(crate) type ChangedPages = BTreeMap<PageName, Option<Vec<u8>>>;

/// The entry of a run in the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRun {
    /// The number of the run in its segment.
    #[serde(rename = "run")]
    pub number: u32,
    /// The number of pages.
    pub pages: u32,
    /// The number of index pages. Zero for a short run, which serves as its own index.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub index: u32,
    /// In the layout of ranges, the least sort key that the run may have. All keys of the previous
    /// run are less.
    #[serde(
        default,
        with = "hexadecimal",
        skip_serializing_if = "<[u8]>::is_empty"
    )]
    pub from: Vec<u8>,
    /// The statistics of its windows.
    pub windows: WindowStatistics,
}

impl StoredRun {
    /// Creates a run without pages.
    pub(crate) fn new(number: u32, from: Vec<u8>) -> Self {
        Self {
            number,
            pages: 0,
            index: 0,
            from,
            windows: WindowStatistics::NONE,
        }
    }

    /// The names of its pages of windows.
    pub(crate) fn names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
        self.numbered(segment, self.pages, false)
    }

    /// The names of the index pages. A run without an index returns its own pages.
    pub(crate) fn index_names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
        match self.index {
            0 => self.numbered(segment, self.pages, false),
            pages => self.numbered(segment, pages, true),
        }
    }

    /// The names of all its pages.
    pub(crate) fn all_names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
        self.names(segment)
            .chain(self.numbered(segment, self.index, true))
    }

    fn numbered(
        &self,
        segment: i64,
        count: u32,
        is_index: bool,
    ) -> impl Iterator<Item = PageName> + use<> {
        let run = self.number;
        (0..count).map(move |number| PageName {
            id: PageId {
                segment,
                run,
                number,
            },
            is_index,
        })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Statistics of windows, known without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowStatistics {
    /// The number of open windows. For sessions stored in parts, the number of open parts.
    pub open: u64,
    /// The least start.
    pub first: i64,
    /// When the first open window is due.
    pub due: i64,
    /// The least end of the closed windows, which stay visible for a while. For sliding windows,
    /// the least start.
    pub oldest: i64,
    /// The least time of the last emission of a window that waits for its next one.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub waits: i64,
}

/// The time of an event that no window has.
pub(super) const NEVER: i64 = i64::MAX;

fn never() -> i64 {
    NEVER
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_never(time: &i64) -> bool {
    *time == NEVER
}

impl WindowStatistics {
    /// The statistics of no window.
    pub(crate) const NONE: Self = Self {
        open: 0,
        first: NEVER,
        due: NEVER,
        oldest: NEVER,
        waits: NEVER,
    };

    /// The statistics of windows. Windows due before `closed` are closed.
    pub(crate) fn of<'e>(extents: impl IntoIterator<Item = &'e Extent>, closed: Time) -> Self {
        let mut statistics = Self::NONE;
        for extent in extents {
            statistics.first = statistics.first.min(extent.start.0);
            if extent.closed_before(closed) {
                statistics.oldest = statistics.oldest.min(extent.end.0);
            } else {
                statistics.open += 1;
                statistics.due = statistics.due.min(extent.reach.0);
            }
        }
        statistics
    }

    /// The statistics of both together.
    pub(crate) fn union(&self, other: &Self) -> Self {
        Self {
            open: self.open.saturating_add(other.open),
            first: self.first.min(other.first),
            due: self.due.min(other.due),
            oldest: self.oldest.min(other.oldest),
            waits: self.waits.min(other.waits),
        }
    }

    /// The statistics with those of the waiting windows of other statistics.
    pub(crate) fn waiting_like(self, other: &Self) -> Self {
        Self {
            waits: other.waits,
            ..self
        }
    }

    /// Whether an open window is due before `due`, or a closed window ends (for sliding windows:
    /// starts) before `kept` and leaves.
    pub(crate) fn change_before(&self, due: Time, kept: Time) -> bool {
        self.due < due.0 || self.oldest < kept.0
    }

    /// Whether a window that waits was emitted at `due` or before.
    pub(crate) fn leave_by(&self, due: Option<Time>) -> bool {
        due.is_some_and(|due| self.waits <= due.0 && !is_never(&self.waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_a_damaged_head_add_up() {
        let most = WindowStatistics {
            open: u64::MAX,
            ..WindowStatistics::NONE
        };
        assert_eq!(most.union(&most), most);
    }

    #[test]
    fn a_run_that_says_nothing_of_waiting_windows_has_none() {
        let text = r#"{"open":1,"first":2,"due":3,"oldest":4}"#;
        let read: WindowStatistics = serde_json::from_str(text).unwrap();
        assert_eq!(read.waits, NEVER);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
