//! The column of ends of a batch: the end of each record in ticks of the time column (rules 6.13).

use arrow_array::{Array, Int64Array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};

use crate::core::time::Time;

/// The ends of a batch's rows.
pub(crate) struct EndColumn(pub(super) Int64Array);

impl EndColumn {
    /// The end of a row as given in the column.
    pub(crate) fn value(&self, row: usize) -> Option<Time> {
        (row < self.0.len() && self.0.is_valid(row)).then(|| Time(self.0.value(row)))
    }

    /// Whether a row with this time has an end, which is not before the time.
    pub(crate) fn is_good(&self, row: usize, time: Time) -> bool {
        self.value(row).is_some_and(|end| end >= time)
    }

    /// Whether each row has an end that is not before its time. Looks at all rows without a branch.
    pub(crate) fn are_all_good(&self, times: &[Time]) -> bool {
        let ends = Time::slice(self.0.values());
        let rows = ends.iter().zip(times);
        self.0.null_count() == 0 && rows.fold(true, |good, (end, time)| good & (end >= time))
    }

    /// The ends of the `kept` rows.
    pub(crate) fn of(&self, kept: &BooleanBuffer) -> ScalarBuffer<i64> {
        let ends = self.0.values();
        if kept.count_set_bits() == ends.len() {
            return ends.clone();
        }
        let kept = kept.set_indices().filter_map(|row| ends.get(row));
        kept.copied().collect()
    }
}
