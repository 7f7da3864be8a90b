//! The sessions of a shard: a micro-batch in, rows and changed pages out.

use arrow_array::RecordBatch;

use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::record::snapshot::ChangedPage;
use crate::state::source_time::SourceTime;

/// The rows that a micro-batch emits, and the pages that have changed: by name, without bytes where a
/// page is no more.
pub type Finished = (Vec<RecordBatch>, Vec<ChangedPage>);

/// The sessions of a shard between two micro-batches.
pub trait ShardSessions: Send {
    /// Goes on from the head of a saved state.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for a head that is damaged, of another query, or of segments of another
    /// length: such a state is restored by the record operator.
    fn restore(&mut self, head: &[u8]) -> Result<()>;

    /// Takes the packed rows of a micro-batch, in which sources have come as far as `progress` says.
    /// Returns the names of the pages that [`Self::finish`] needs.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for blocks of another query and for a micro-batch before the last one is
    /// finished; those of the interrupt.
    fn push(&mut self, packed: &RecordBatch, progress: &[SourceTime]) -> Result<Vec<String>>;

    /// Joins sessions and closes those that stream time has passed. `pages` are those that
    /// [`Self::push`] has named, in any order.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for other pages and damaged ones, and without a micro-batch;
    /// [`Error::Overflow`] for a result that does not fit its type; those of the interrupt.
    fn finish(&mut self, pages: &[&[u8]]) -> Result<Finished>;

    /// The counters.
    fn counters(&self) -> Counters;

    /// Sessions that are not closed, after a micro-batch.
    fn windows_open(&self) -> u64;

    /// Stream time, in ticks of the time column.
    fn stream_time(&self) -> Option<Time>;
}

/// The error of a micro-batch before the last one is finished.
pub(super) fn unfinished() -> Error {
    Error::Format {
        what: "micro-batch",
        reason: "the one before it is not finished".into(),
    }
}

/// The error where a micro-batch is finished before it was pushed.
pub(super) fn none_pushed() -> Error {
    Error::Format {
        what: "micro-batch",
        reason: "none was pushed".into(),
    }
}
