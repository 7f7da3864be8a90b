//! Finds the runs that a micro-batch touches.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::page::PageName;
use super::segment_table::{SegmentTable, place};
use super::stored_run::StoredRun;
use crate::core::operator::window_operator::Closing;

/// The runs that a micro-batch touches.
pub(crate) struct Touched<'a> {
    /// Segments with untouched runs.
    partial: Vec<TouchedSegment<'a>>,
    /// Segments whose runs are all touched.
    whole: Vec<TouchedSegment<'a>>,
}

/// The runs of a segment, and which of them are touched.
struct TouchedSegment<'a> {
    id: i64,
    runs: &'a [StoredRun],
    touched: Vec<bool>,
    /// The number of untouched runs.
    others: usize,
}

impl<'a> Touched<'a> {
    /// Starts with the runs in which a window closes, leaves or may be emitted again.
    pub(crate) fn new(table: &'a SegmentTable, closing: Closing) -> Self {
        let Closing { due, kept, emitted } = closing;
        let changes =
            |run: &StoredRun| run.windows.change_before(due, kept) || run.windows.leave_by(emitted);
        let segments = table.segments().map(|(id, runs)| {
            let touched: Vec<bool> = runs.iter().map(changes).collect();
            TouchedSegment {
                id,
                runs,
                others: touched.iter().filter(|touched| !**touched).count(),
                touched,
            }
        });
        let (partial, whole) = segments.partition(|segment| segment.others > 0);
        Self { partial, whole }
    }

    /// Adds the runs to which a sort key belongs. Breaks once all runs are touched.
    pub(crate) fn add(&mut self, key: &[u8]) -> ControlFlow<()> {
        let whole = self.partial.extract_if(.., |segment| {
            if let Some(touched) = segment.touched.get_mut(place(segment.runs, key)) {
                segment.others -= usize::from(!*touched);
                *touched = true;
            }
            segment.others == 0
        });
        self.whole.extend(whole);
        if self.partial.is_empty() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The names of the pages of the touched runs.
    pub(crate) fn names(&self) -> BTreeSet<PageName> {
        let segments = self.partial.iter().chain(&self.whole);
        let names = segments.flat_map(|segment| {
            let each = segment.runs.iter().zip(&segment.touched);
            let touched = each.filter(|(_, touched)| **touched);
            touched.flat_map(|(run, _)| run.names(segment.id))
        });
        names.collect()
    }
}
