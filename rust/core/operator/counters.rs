//! Counters of an operator (rules 7).

use serde::{Deserialize, Serialize};

use super::record::Fault;

/// Counts of rows and windows since the start of an operator or a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Records with a key, a time, an end and a valid gap, including late ones.
    pub records: u64,
    /// Records that were late as a whole.
    pub late: u64,
    /// Records before the close time of their input that are in a session all the same, if records
    /// have ends of their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub behind: u64,
    /// Refusals by sliding windows of records that were not late as a whole.
    pub windows_refused: u64,
    /// Late records that were emitted as separate windows.
    pub late_emitted: u64,
    /// Records without a key.
    pub null_keys: u64,
    /// Records without a time.
    pub null_times: u64,
    /// Records without a tie, if the query has ties.
    pub null_ties: u64,
    /// Records whose gap is null, negative, or a zero that the query does not take.
    pub bad_gaps: u64,
    /// Records whose end is null or before their time.
    #[serde(skip_serializing_if = "is_zero")]
    pub bad_ends: u64,
    /// Records whose gap was cut to the longest gap.
    pub clamped_gaps: u64,
    /// Ticks.
    pub ticks: u64,
    /// Ticks without a time.
    pub bad_ticks: u64,
    /// Emitted upserts and deletes.
    pub updates: u64,
    /// Closed windows.
    pub windows_closed: u64,
    /// Results that are null because they do not fit their type.
    pub overflows: u64,
    /// Records without a value, if the query drops them like Kafka does. Only in the driver.
    pub null_values: u64,
}

impl Counters {
    /// The number of records with a fault.
    pub(crate) fn left_out(&self) -> u64 {
        let keys_and_values = self.null_keys + self.null_values;
        keys_and_values + self.null_times + self.null_ties + self.bad_gaps + self.bad_ends
    }

    /// The number of records with this fault.
    pub(crate) fn of(&mut self, fault: Fault) -> &mut u64 {
        match fault {
            Fault::NullKey => &mut self.null_keys,
            Fault::NullValue => &mut self.null_values,
            Fault::NullTime => &mut self.null_times,
            Fault::NullTie => &mut self.null_ties,
            Fault::BadGap => &mut self.bad_gaps,
            Fault::BadEnd => &mut self.bad_ends,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_ends_are_only_written_if_they_count() {
        let counters = Counters::default();
        let text = serde_json::to_string(&counters).unwrap();
        assert!(
            !text.contains("behind") && !text.contains("bad_ends"),
            "{text}"
        );
        let counters = Counters {
            behind: 2,
            bad_ends: 3,
            ..counters
        };
        let text = serde_json::to_string(&counters).unwrap();
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), counters);
    }
}
