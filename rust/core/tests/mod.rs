//! Tests of this room.

pub(crate) mod cases;
mod kafka;
mod kafka_model;
mod replay;
mod sort;
pub(crate) mod text_aggregates;
mod window;
pub(crate) mod window_members;

use crate::core::operator::counters::Counters;

impl Counters {
    /// Dropped records and refusals by windows, as in Kafka's `dropped-records`.
    pub(crate) fn dropped(&self) -> u64 {
        self.late + self.windows_refused + self.left_out()
    }
}
