//! Which rows of a batch are records, and which of these are in no window, whatever the stream time.

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_cast::display::array_value_to_string;

use super::end_column::EndColumn;
use super::gap_column::GapColumn;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::record::Fault;
use crate::core::time::Time;
use crate::plan::query::Query;
use crate::plan::source_column::SourceColumn;

/// The records of a batch, and their faults.
pub(crate) struct Faults {
    /// The rows that are not ticks.
    pub records: BooleanBuffer,
    /// The records without a fault.
    pub good: BooleanBuffer,
    /// The records of each fault. Only the first fault of a record counts.
    found: Vec<(Fault, BooleanBuffer)>,
}

impl Faults {
    /// Finds them in the columns of a batch. `values` and `tied` are the rows that have a value and a
    /// tie; `None` says that all have.
    pub(super) fn find(
        records: BooleanBuffer,
        keys: &[ArrayRef],
        values: Option<&NullBuffer>,
        time: &Int64Array,
        tied: Option<&BooleanBuffer>,
        gaps: Option<&GapColumn>,
        ends: Option<&EndColumn>,
    ) -> Self {
        let good = records.clone();
        let found = Vec::new();
        let mut faults = Self {
            records,
            good,
            found,
        };
        let (rows, times) = (time.len(), Time::slice(time.values()));
        let keyed: Option<Vec<NullBuffer>> = keys.iter().map(|key| key.logical_nulls()).collect();
        if let Some(keyed) = keyed {
            let none = BooleanBuffer::new_unset(rows);
            let keyed = keyed.iter().fold(none, |some, own| &some | own.inner());
            faults.add(Fault::NullKey, &keyed);
        }
        if let Some(values) = values {
            faults.add(Fault::NullValue, values.inner());
        }
        if let Some(timed) = time.nulls() {
            faults.add(Fault::NullTime, timed.inner());
        }
        if let Some(tied) = tied {
            faults.add(Fault::NullTie, tied);
        }
        if let Some(gaps) = gaps {
            let is_good = |row| gaps.of(row).is_some();
            faults.add(Fault::BadGap, &BooleanBuffer::collect_bool(rows, is_good));
        }
        if let Some(ends) = ends.filter(|ends| !ends.are_all_good(times)) {
            let is_good = |row| times.get(row).is_some_and(|&time| ends.is_good(row, time));
            faults.add(Fault::BadEnd, &BooleanBuffer::collect_bool(rows, is_good));
        }
        faults
    }

    /// Adds a fault, which all rows have but these.
    fn add(&mut self, fault: Fault, lack_it: &BooleanBuffer) {
        let good = &self.good & lack_it;
        if good.count_set_bits() < self.good.count_set_bits() {
            self.found.push((fault, &self.good & &!lack_it));
            self.good = good;
        }
    }

    /// The fault of a record.
    pub(crate) fn of(&self, row: usize) -> Option<Fault> {
        let mut found = self.found.iter();
        let own = found.find(|(_, rows)| row < rows.len() && rows.value(row));
        own.map(|(fault, _)| *fault)
    }

    /// The name of each row's fault, null for a row without one.
    pub(crate) fn names(&self) -> StringArray {
        let rows = 0..self.records.len();
        rows.map(|row| self.of(row).map(Fault::name)).collect()
    }

    /// Counts the rows.
    pub(crate) fn count(&self, counters: &mut Counters) {
        let count = |rows: &BooleanBuffer| rows.count_set_bits() as u64;
        counters.ticks += self.records.len() as u64 - count(&self.records);
        counters.records += count(&self.good);
        for (fault, rows) in &self.found {
            *counters.of(*fault) += count(rows);
        }
    }

    /// Refuses the first record with a fault that the query refuses.
    pub(super) fn check(&self, query: &Query, keys: &[ArrayRef], times: &[Time]) -> Result<()> {
        for (fault, rows) in &self.found {
            if let Some(row) = rows.set_indices().next() {
                let time = times.get(row).copied();
                check(query, *fault, keys, row, time)?;
            }
        }
        Ok(())
    }
}

/// Refuses a record with a fault, if the query says so. The error names its key and its time.
pub(super) fn check(
    query: &Query,
    fault: Fault,
    keys: &[ArrayRef],
    row: usize,
    time: Option<Time>,
) -> Result<()> {
    if !query.refuses(fault) {
        return Ok(());
    }
    let key = keys.iter().map(|array| array_value_to_string(array, row));
    let key = key.collect::<std::result::Result<Vec<_>, _>>()?.join(", ");
    let time = query.show(time.unwrap_or_default());
    let columns = &query.columns;
    let (column, what, got, allowed) = match (fault, &columns.end) {
        (Fault::BadEnd, end) => (end, "end", "null or before that time", "that time or later"),
        (_, Some(_)) => (&columns.gap, "gap", "null or negative", "zero or longer"),
        (_, None) => (
            &columns.gap,
            "gap",
            "null, zero or negative",
            "longer than zero, or zero in a query with end=",
        ),
    };
    Err(Error::Record {
        column: column.as_ref().map_or("", SourceColumn::name).to_owned(),
        reason: format!("the {what} of key {key} at {time} is {got}; allowed: {allowed}"),
    })
}
