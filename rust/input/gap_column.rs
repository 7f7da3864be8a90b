//! The gap column of a batch: the gap of each record in ticks of the time column (rules 3.1).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;

use super::read_counters::ReadCounters;
use crate::array::convert;
use crate::core::error::{Error, Result};
use crate::core::operator::record::EffectiveGap;
use crate::core::session::session_windows::Gap;
use crate::core::time::{Span, Time};
use crate::plan::query::Query;
use crate::plan::window_lengths::{WindowLengths, per_second};

/// The gaps of a batch's rows.
pub(crate) struct GapColumn {
    gap: Gap,
    ticks: Int64Array,
}

impl GapColumn {
    /// Reads the gaps of a batch, or `None` for sliding windows.
    pub(crate) fn read(query: &Query, durations: &ArrayRef) -> Result<Option<Self>> {
        let WindowLengths::Session(gap) = query.windows else {
            return Ok(None);
        };
        Ok(Some(Self {
            gap,
            ticks: in_ticks(durations, query.time.data_type())?,
        }))
    }

    /// The gap of a row as given in the column.
    pub(crate) fn value(&self, row: usize) -> Option<i64> {
        (row < self.ticks.len() && self.ticks.is_valid(row)).then(|| self.ticks.value(row))
    }

    /// Whether the gap of a row is valid.
    pub(crate) fn is_good(&self, row: usize) -> bool {
        self.gap.of(self.value(row)) != EffectiveGap::Bad
    }

    /// The effective gaps of the `kept` rows, all of which have a valid gap.
    pub(crate) fn in_effect(&self, kept: &BooleanBuffer, counters: &mut ReadCounters) -> Vec<Span> {
        let mut gaps = Vec::with_capacity(kept.count_set_bits());
        for row in kept.set_indices() {
            match self.gap.of(self.value(row)) {
                EffectiveGap::Valid(gap) => gaps.push(gap),
                EffectiveGap::Clamped(gap) => {
                    counters.clamped_gaps += 1;
                    gaps.push(gap);
                }
                EffectiveGap::Bad => {}
            }
        }
        gaps
    }
}

/// The error for an invalid gap. It names the key and the time of the row.
pub(crate) fn bad_gap(query: &Query, keys: &[ArrayRef], row: usize, time: Time) -> Result<Error> {
    let (key, time) = (shown_key(keys, row)?, query.show(time));
    let (bad, allowed) = match query.columns.end {
        Some(_) => ("null or negative", "zero or longer"),
        None => (
            "null, zero or negative",
            "longer than zero, or zero in a query with end=",
        ),
    };
    Ok(Error::Record {
        column: query
            .columns
            .gap
            .as_ref()
            .map(|column| column.name().to_owned())
            .unwrap_or_default(),
        reason: format!("the gap of key {key} at {time} is {bad}; allowed: {allowed}"),
    })
}

/// The key of a row, for errors.
pub(super) fn shown_key(keys: &[ArrayRef], row: usize) -> Result<String> {
    let key = keys.iter().map(|array| array_value_to_string(array, row));
    let key = key.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(key.join(", "))
}

/// Converts durations to ticks of the time column, rounding toward zero. Durations beyond the range
/// become the longest one.
fn in_ticks(durations: &ArrayRef, time: &DataType) -> Result<Int64Array> {
    let unpacked = convert::unpack(durations)?;
    let (DataType::Duration(from), DataType::Timestamp(to, _)) = (unpacked.data_type(), time)
    else {
        return Err(Error::Internal(
            "a gap is not a duration, or a time is not a timestamp",
        ));
    };
    let (from, to) = (per_second(*from), per_second(*to));
    let canonical = convert::canonical(&unpacked)?;
    let scaled = |ticks: i64| {
        i64::try_from(i128::from(ticks) * to / from).unwrap_or(if ticks < 0 {
            i64::MIN
        } else {
            i64::MAX
        })
    };
    let ticks = canonical.as_primitive::<Int64Type>();
    Ok(if from == to {
        ticks.clone()
    } else {
        ticks.unary(scaled)
    })
}
