//! How far a source has come in a micro-batch.

use crate::core::operator::stream_time::Source;
use crate::core::time::Time;

/// How far a source of an input has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceTime {
    /// The input, of a cogroup; 0 otherwise.
    pub input: usize,
    /// The source partition.
    pub source: Source,
    /// The largest time of its records and ticks in the micro-batch.
    pub time: Time,
}

/// Progress as stream time takes it.
pub(crate) fn seen(progress: &[SourceTime]) -> impl Iterator<Item = (usize, Source, Time)> {
    progress
        .iter()
        .map(|known| (known.input, known.source, known.time))
}
