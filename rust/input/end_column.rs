//! The column of ends of a batch: the end of each record in ticks of the time column (rules 6.13).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};

use super::gap_column::shown_key;
use super::read_counters::ReadCounters;
use crate::array::convert;
use crate::core::error::{Error, Result};
use crate::core::time::Time;
use crate::plan::query::Query;
use crate::plan::spec::InvalidValue;

/// The ends of a batch's rows.
pub(crate) struct EndColumn(Int64Array);

impl EndColumn {
    /// Reads ends of the type of times.
    pub(crate) fn read(ends: &ArrayRef) -> Result<Self> {
        let ends = convert::canonical(ends)?;
        Ok(Self(ends.as_primitive::<Int64Type>().clone()))
    }

    /// The end of a row as given in the column.
    pub(crate) fn value(&self, row: usize) -> Option<Time> {
        (row < self.0.len() && self.0.is_valid(row)).then(|| Time(self.0.value(row)))
    }

    /// Whether a row with this time has an end, which is not before the time.
    pub(crate) fn is_good(&self, row: usize, time: Time) -> bool {
        self.value(row).is_some_and(|end| end >= time)
    }

    /// The ends of the `kept` rows, all of which have a time. First excludes rows with an invalid end,
    /// or refuses them if the query says so.
    pub(crate) fn in_effect(
        &self,
        query: &Query,
        keys: &[ArrayRef],
        time: &ArrayRef,
        kept: &mut BooleanBuffer,
        counters: &mut ReadCounters,
    ) -> Result<ScalarBuffer<i64>> {
        let times = convert::canonical(time)?;
        let times = Time::slice(times.as_primitive::<Int64Type>().values());
        if !self.are_all_good(times) {
            let is_good = |row| times.get(row).is_some_and(|&time| self.is_good(row, time));
            let good = &*kept & &BooleanBuffer::collect_bool(kept.len(), is_good);
            let bad = &*kept & &!&good;
            let first = bad.set_indices().next();
            if let (InvalidValue::Error, Some(row)) = (query.invalid_end, first) {
                let time = times.get(row).copied().unwrap_or_default();
                return Err(bad_end(query, keys, row, time)?);
            }
            counters.bad_ends += bad.count_set_bits() as u64;
            *kept = good;
        }
        Ok(self.of(kept))
    }

    /// Whether each row has an end that is not before its time. Looks at all rows without a branch.
    fn are_all_good(&self, times: &[Time]) -> bool {
        let ends = Time::slice(self.0.values());
        let rows = ends.iter().zip(times);
        self.0.null_count() == 0 && rows.fold(true, |good, (end, time)| good & (end >= time))
    }

    /// The ends of the `kept` rows.
    fn of(&self, kept: &BooleanBuffer) -> ScalarBuffer<i64> {
        let ends = self.0.values();
        if kept.count_set_bits() == ends.len() {
            return ends.clone();
        }
        let kept = kept.set_indices().filter_map(|row| ends.get(row));
        kept.copied().collect()
    }
}

/// The error for an invalid end. It names the key and the time of the row.
pub(crate) fn bad_end(query: &Query, keys: &[ArrayRef], row: usize, time: Time) -> Result<Error> {
    let (key, time) = (shown_key(keys, row)?, query.show(time));
    let column = query.columns.end.as_ref();
    Ok(Error::Record {
        column: column.map_or("", |column| column.name()).to_owned(),
        reason: format!(
            "the end of key {key} at {time} is null or before that time; allowed: that time or later"
        ),
    })
}
