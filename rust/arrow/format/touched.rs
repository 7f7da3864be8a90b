//! The runs that a micro-batch touches.

use std::collections::BTreeSet;

use super::page::PageName;
use super::range_table::{RangeTable, place};
use super::stored_range::StoredRange;
use crate::time::Time;

/// The runs that a micro-batch touches.
pub(crate) struct Touched<'a> {
    segments: Vec<(i64, &'a [StoredRange], Vec<bool>)>,
    /// How many are not touched.
    others: usize,
}

impl<'a> Touched<'a> {
    /// Those in which a window closes before `due`, or a closed one leaves that is not kept.
    pub fn new(table: &'a RangeTable, due: Time, kept: Time) -> Self {
        let due = |stored: &StoredRange| stored.range.windows.change_before(due, kept);
        let segments = table.segments().map(|(segment, ranges)| {
            let touched = ranges.iter().map(due).collect();
            (segment, ranges, touched)
        });
        let segments: Vec<(i64, &[StoredRange], Vec<bool>)> = segments.collect();
        let touched = segments.iter().flat_map(|(.., touched)| touched);
        Self {
            others: touched.filter(|touched| !**touched).count(),
            segments,
        }
    }

    /// Whether all of them are touched.
    pub fn are_all(&self) -> bool {
        self.others == 0
    }

    /// Adds those that have the windows of a sort key, or get them.
    pub fn add(&mut self, key: &[u8]) {
        for (_, ranges, touched) in &mut self.segments {
            if let Some(touched) = touched.get_mut(place(ranges, key)) {
                self.others -= usize::from(!*touched);
                *touched = true;
            }
        }
    }

    /// The names of their pages.
    pub fn names(&self) -> BTreeSet<PageName> {
        let segments = self.segments.iter();
        let stored = segments.flat_map(|(segment, ranges, touched)| {
            let stored = ranges.iter().zip(touched);
            stored.map(move |(stored, touched)| (*segment, stored, *touched))
        });
        let touched = stored.filter(|(.., touched)| *touched);
        touched
            .flat_map(|(segment, stored, _)| stored.names(segment))
            .collect()
    }
}
