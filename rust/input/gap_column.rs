//! The gap column of a batch: the gap of each record in ticks of the time column (rules 3.1).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use crate::array::convert;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::session::session_windows::Gap;
use crate::core::time::Span;
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

    /// The gap of a row, and whether it was cut to the longest gap. `None` for a bad gap.
    pub(crate) fn of(&self, row: usize) -> Option<(Span, bool)> {
        let is_there = row < self.ticks.len() && self.ticks.is_valid(row);
        let own = is_there.then(|| self.ticks.value(row));
        let gap = self.gap.of(own)?;
        Some((gap, own.is_some_and(|own| own.cast_unsigned() > gap.0)))
    }

    /// The gaps of the `kept` rows, all of which have a good one.
    pub(crate) fn in_effect(&self, kept: &BooleanBuffer, counters: &mut Counters) -> Vec<Span> {
        let gaps = kept.set_indices().filter_map(|row| self.of(row));
        let counted = gaps.map(|(gap, is_clamped)| {
            counters.clamped_gaps += u64::from(is_clamped);
            gap
        });
        counted.collect()
    }
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
