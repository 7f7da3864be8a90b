//! How many rows were read, and how many were left out and why.

use std::ops::AddAssign;

/// Rows read and rows left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Rows that are no ticks, with those that were left out.
    pub records: u64,
    /// Rows left out because every key column is null.
    pub null_keys: u64,
    /// Rows left out because only their time is null.
    pub null_times: u64,
    /// Rows left out because only their gap is null, zero or negative.
    pub bad_gaps: u64,
    /// Rows whose gap was longer than the longest gap and was cut to it.
    pub clamped_gaps: u64,
    /// Rows left out because they are ticks.
    pub ticks: u64,
}

impl AddAssign for ReadCounters {
    fn add_assign(&mut self, other: Self) {
        self.records += other.records;
        self.null_keys += other.null_keys;
        self.null_times += other.null_times;
        self.bad_gaps += other.bad_gaps;
        self.clamped_gaps += other.clamped_gaps;
        self.ticks += other.ticks;
    }
}
