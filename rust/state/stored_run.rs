//! A run: sorted windows of a segment, cut into pages, and what is known of it without them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hexadecimal;
use super::page::{PageId, PageName};
use crate::core::time::Time;
use crate::core::window::Extent;

/// The pages that a micro-batch changes: without bytes where a page is no more.
pub(crate) type ChangedPages = BTreeMap<PageName, Option<Vec<u8>>>;

/// What a head says of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRun {
    /// Its number in the segment.
    #[serde(rename = "run")]
    pub number: u32,
    /// How many pages it has.
    pub pages: u32,
    /// How many pages its index has; none where the run is so short that it is its own index.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub index: u32,
    /// Where runs have ranges of keys: no sort key of the run is less, and none of the run before it
    /// is as great or greater.
    #[serde(
        default,
        with = "hexadecimal",
        skip_serializing_if = "<[u8]>::is_empty"
    )]
    pub from: Vec<u8>,
    /// What is in it.
    pub windows: WindowStatistics,
}

impl StoredRun {
    /// A run without pages yet.
    pub fn new(number: u32, from: Vec<u8>) -> Self {
        Self {
            number,
            pages: 0,
            index: 0,
            from,
            windows: WindowStatistics::NONE,
        }
    }

    /// The names of its pages.
    pub fn names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
        self.numbered(segment, self.pages, false)
    }

    /// The names of the pages of its index; of its own pages where it is its own index.
    pub fn index_names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
        match self.index {
            0 => self.numbered(segment, self.pages, false),
            pages => self.numbered(segment, pages, true),
        }
    }

    /// The names of all pages that are stored for it.
    pub fn all_names(&self, segment: i64) -> impl Iterator<Item = PageName> + use<> {
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

/// What is known of some windows without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowStatistics {
    /// How many of them are open; of sessions that are stored in parts, how many parts.
    pub open: u64,
    /// The least start.
    pub first: i64,
    /// When the first of the open ones is due.
    pub due: i64,
    /// The least end (of sliding windows: start) of the others, which are visible for some time yet.
    pub oldest: i64,
}

impl WindowStatistics {
    /// Of no window.
    pub const NONE: Self = Self {
        open: 0,
        first: i64::MAX,
        due: i64::MAX,
        oldest: i64::MAX,
    };

    /// Of windows of which those due before `closed` are closed.
    pub fn of<'e>(extents: impl IntoIterator<Item = &'e Extent>, closed: Time) -> Self {
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

    /// Those of both together.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            open: self.open.saturating_add(other.open),
            first: self.first.min(other.first),
            due: self.due.min(other.due),
            oldest: self.oldest.min(other.oldest),
        }
    }

    /// Whether a window closes before a time, or a closed one leaves that ends (of sliding windows:
    /// starts) before another.
    pub fn change_before(&self, due: Time, kept: Time) -> bool {
        self.due < due.0 || self.oldest < kept.0
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
}
