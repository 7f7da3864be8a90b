//! The segments of a shard: slices of the times that sessions reach.

use crate::core::time::Time;

/// Segments of one length, shifted by some time, so that shards open theirs by turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentGrid {
    pub width: i64,
    pub offset: i64,
}

impl SegmentGrid {
    /// The segment of a reach.
    pub fn of(&self, reach: Time) -> i64 {
        reach.0.saturating_add(self.offset).div_euclid(self.width)
    }

    /// The last reach of a segment.
    pub fn end(&self, segment: i64) -> i64 {
        let next = segment.saturating_add(1).saturating_mul(self.width);
        next.saturating_sub(1).saturating_sub(self.offset)
    }
}
