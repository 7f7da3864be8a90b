//! A batch of the user's rows: columns picked by name, rows that cannot be windowed left out and
//! counted.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::filter::FilterBuilder;
use arrow_select::take::take;

use super::counters::ReadCounters;
use super::gap_column::GapColumn;
use crate::aggregate::SeqNo;
use crate::aggregate::column::Column;
use crate::arrow::array::convert;
use crate::arrow::array::named::column;
use crate::arrow::plan::input_column::InputColumn;
use crate::arrow::plan::query::Query;
use crate::error::Result;
use crate::time::{Span, Time};

/// Rows with a key and a time.
pub(crate) struct Records {
    /// The key columns.
    pub keys: Vec<ArrayRef>,
    times: ArrayRef,
    gaps: Option<Vec<Span>>,
    seq_nos: Vec<SeqNo>,
    inputs: Vec<ArrayRef>,
    /// Of a query for rows, all columns of its output.
    pub whole: Vec<ArrayRef>,
}

impl Records {
    /// Picks the query's columns out of a batch. What is its first row is the `arrival`-th of all.
    pub fn read(
        query: &Query,
        batch: &RecordBatch,
        seq_no: SeqNo,
        counters: &mut ReadCounters,
    ) -> Result<Self> {
        let keys = query
            .keys
            .iter()
            .map(|field| column(batch, field.name()))
            .collect::<Result<Vec<_>>>()?;
        let time = convert::cast(&column(batch, query.time.name())?, query.time.data_type())?;
        let tick = query
            .tick
            .as_ref()
            .map(|name| column(batch, name))
            .transpose()?;
        let mut kept = keep(&keys, &time, tick.as_ref(), counters)?;
        let gaps = GapColumn::read(query, batch)?
            .map(|gaps| gaps.in_effect(query, &keys, &time, &mut kept, counters))
            .transpose()?;
        let rows = kept.count_set_bits();
        let all = rows == kept.len();
        let predicate = (!all).then(|| {
            FilterBuilder::new(&BooleanArray::new(kept, None))
                .optimize()
                .build()
        });
        let pick = |array: &ArrayRef| match &predicate {
            Some(predicate) => Ok(predicate.filter(array)?),
            None => Ok(Arc::clone(array)),
        };
        let cast = |field: &Field| {
            pick(&convert::cast(
                &column(batch, field.name())?,
                field.data_type(),
            )?)
        };
        let input = |taken: &InputColumn| taken.canonical(cast(&taken.field)?);
        let inputs = query.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
        query
            .origin
            .iter()
            .try_for_each(|origin| origin.check_rows(&inputs))?;
        Ok(Self {
            whole: if query.rows {
                query
                    .output
                    .fields()
                    .iter()
                    .map(|field| cast(field))
                    .collect::<Result<_>>()?
            } else {
                Vec::new()
            },
            keys: keys.iter().map(pick).collect::<Result<_>>()?,
            times: convert::canonical(&pick(&time)?)?,
            gaps,
            seq_nos: if query.needs_seq_no {
                (seq_no..).take(rows).collect()
            } else {
                Vec::new()
            },
            inputs,
        })
    }

    /// Of columns that another one gave away, without keys.
    pub fn of(
        times: ArrayRef,
        gaps: Option<Vec<Span>>,
        seq_nos: Vec<SeqNo>,
        inputs: Vec<ArrayRef>,
    ) -> Self {
        Self {
            keys: Vec::new(),
            times,
            gaps,
            seq_nos,
            inputs,
            whole: Vec::new(),
        }
    }

    /// The rows `rows`.
    pub fn pick(&self, rows: &UInt32Array) -> Result<Self> {
        let pick = |array: &ArrayRef| Ok(take(array, rows, None)?);
        Ok(Self {
            keys: self.keys.iter().map(pick).collect::<Result<_>>()?,
            times: pick(&self.times)?,
            gaps: self.gaps.as_ref().map(|gaps| picked(gaps, rows)),
            seq_nos: picked(&self.seq_nos, rows),
            inputs: self.inputs.iter().map(pick).collect::<Result<_>>()?,
            whole: self.whole.iter().map(pick).collect::<Result<_>>()?,
        })
    }

    /// Rows next to each other.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        let slice = |array: &ArrayRef| array.slice(rows.start, rows.len());
        Self {
            keys: self.keys.iter().map(slice).collect(),
            times: slice(&self.times),
            gaps: self
                .gaps
                .as_ref()
                .map(|gaps| gaps.get(rows.clone()).unwrap_or_default().to_vec()),
            seq_nos: self.seq_nos.get(rows.clone()).unwrap_or_default().to_vec(),
            inputs: self.inputs.iter().map(slice).collect(),
            whole: self.whole.iter().map(slice).collect(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.times.len()
    }

    /// Event times, in ticks of the time column.
    pub fn times(&self) -> &[Time] {
        Time::slice(self.times.as_primitive::<Int64Type>().values())
    }

    /// The gaps in effect, in ticks of the time column; none where all records have one gap.
    pub fn gaps(&self) -> &[Span] {
        self.gaps.as_deref().unwrap_or_default()
    }

    /// Where each row stands among all of the input; none unless the query minds it.
    pub fn seq_nos(&self) -> &[SeqNo] {
        &self.seq_nos
    }

    /// The arrays of [`Self::inputs`].
    pub fn arrays(&self) -> &[ArrayRef] {
        &self.inputs
    }

    /// The query's inputs.
    pub fn inputs(&self) -> Result<Vec<Column<'_>>> {
        self.inputs.iter().map(convert::view).collect()
    }
}

fn picked<T: Copy>(values: &[T], rows: &UInt32Array) -> Vec<T> {
    rows.values()
        .iter()
        .filter_map(|&row| values.get(row as usize).copied())
        .collect()
}

/// Which rows have a key and a time, and are no ticks.
fn keep(
    keys: &[ArrayRef],
    time: &ArrayRef,
    tick: Option<&ArrayRef>,
    counters: &mut ReadCounters,
) -> Result<BooleanBuffer> {
    let rows = time.len();
    let all = || BooleanBuffer::new_set(rows);
    let ticks = match tick {
        Some(tick) => {
            let tick = convert::cast(tick, &DataType::Boolean)?;
            let tick = tick.as_boolean();
            tick.nulls().map_or_else(
                || tick.values().clone(),
                |nulls| tick.values() & nulls.inner(),
            )
        }
        None => BooleanBuffer::new_unset(rows),
    };
    let mut keyed = BooleanBuffer::new_unset(rows);
    for key in keys {
        keyed = &keyed
            | &key
                .logical_nulls()
                .map_or_else(all, |nulls| nulls.into_inner());
    }
    let timed = time
        .logical_nulls()
        .map_or_else(all, |nulls| nulls.into_inner());

    let data = !&ticks;
    let with_key = &data & &keyed;
    let kept = &with_key & &timed;
    let count = |bits: &BooleanBuffer| bits.count_set_bits() as u64;
    counters.ticks += count(&ticks);
    counters.records += count(&data);
    counters.null_keys += count(&data) - count(&with_key);
    counters.null_times += count(&with_key) - count(&kept);
    Ok(kept)
}
