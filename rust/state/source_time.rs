//! The progress of a source in a micro-batch.

use crate::core::operator::stream_time::Source;
use crate::core::time::Time;

/// The progress of a source of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceTime {
    /// The input of a cogroup; 0 otherwise.
    pub input: usize,
    /// The source partition.
    pub source: Source,
    /// The largest time of its records and ticks in the micro-batch.
    pub time: Time,
}

/// Progress in the form that stream time needs.
pub(crate) fn seen(progress: &[SourceTime]) -> impl Iterator<Item = (usize, Source, Time)> {
    progress
        .iter()
        .map(|known| (known.input, known.source, known.time))
}
