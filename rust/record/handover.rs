//! The state of a stream that begins with the windows of another operator.

use super::operator::Operator;
use super::saved_windows;
use crate::core::error::Result;
use crate::core::operator::counters::Counters;
use crate::state::page::ChangedPage;
use crate::state::segment_table::Layout;
use crate::state::snapshot::Snapshot;

impl Operator {
    /// The windows and the time of this operator, which has one input, as the saved state of
    /// `stream`, a new operator of the same windows and aggregates. All inputs of `stream` have this
    /// time. Its counters are zero.
    ///
    /// # Errors
    ///
    /// As [`Self::pages`], and if `stream` has seen records.
    pub(crate) fn handover(&mut self, stream: &Self) -> Result<Vec<ChangedPage>> {
        self.check_whole()?;
        stream.state.check_unused()?;
        let (windows, mut states) = self.state.at_rest();
        windows.drop_hidden(&mut states);
        let fingerprint = stream.snapshot.fingerprint.clone();
        let width = self.state.windows.segment_width();
        let mut snapshot = Snapshot::new(fingerprint, Layout::Ranges, width);
        let pages = saved_windows::write(&self.state, &mut snapshot)?;
        let mut clock = self.state.clock();
        let inputs = stream.state.windows.time().progress().len();
        clock.progress = clock
            .progress
            .iter()
            .cycle()
            .take(inputs)
            .cloned()
            .collect();
        clock.counters = Counters::default();
        snapshot.finish(pages, &clock)
    }
}
