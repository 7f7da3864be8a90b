//! Counts the rows that were read, and the excluded rows by reason.

use std::ops::AddAssign;

/// How many rows were read and how many were excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Rows that are not ticks, including excluded ones.
    pub records: u64,
    /// Rows excluded because every key column is null.
    pub null_keys: u64,
    /// Rows excluded only because their time is null.
    pub null_times: u64,
    /// Rows excluded only because their tie is null.
    pub null_ties: u64,
    /// Rows excluded only because their gap is null, negative, or a zero that the query does not take.
    pub bad_gaps: u64,
    /// Rows excluded only because their end is null or before their time.
    pub bad_ends: u64,
    /// Rows whose gap was shortened to the longest allowed gap.
    pub clamped_gaps: u64,
    /// Rows excluded because they are ticks.
    pub ticks: u64,
}

impl AddAssign for ReadCounters {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.null_keys += other.null_keys;
        self.null_times += other.null_times;
        self.null_ties += other.null_ties;
        self.bad_gaps += other.bad_gaps;
        self.bad_ends += other.bad_ends;
        self.clamped_gaps += other.clamped_gaps;
        self.ticks += other.ticks;
    }
}
