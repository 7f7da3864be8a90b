//! What an operator counts (rules 7).

use serde::{Deserialize, Serialize};

/// Counts since the operator began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Records with a key, a time and a good gap, late ones too.
    pub records: u64,
    /// Records that were late as a whole.
    pub late: u64,
    /// Sliding windows that refused a record which was not late as a whole.
    pub windows_refused: u64,
    /// Windows of late records alone that were emitted.
    pub late_emitted: u64,
    /// Records without a key.
    pub null_keys: u64,
    /// Records without a time.
    pub null_times: u64,
    /// Records whose gap is null, zero or negative.
    pub bad_gaps: u64,
    /// Records whose gap was longer than the longest gap and was cut to it.
    pub clamped_gaps: u64,
    /// Ticks.
    pub ticks: u64,
    /// Ticks without a time.
    pub bad_ticks: u64,
    /// Changes that were emitted: upserts and deletes.
    pub updates: u64,
    /// Windows that were closed.
    pub windows_closed: u64,
    /// Records without a value, where these are dropped as Kafka drops them; only in the driver.
    pub null_values: u64,
}

impl Counters {
    /// Records and windows left out, as Kafka's `dropped-records` counts them.
    pub fn dropped(&self) -> u64 {
        self.late
            + self.windows_refused
            + self.null_keys
            + self.null_times
            + self.bad_gaps
            + self.null_values
    }
}
