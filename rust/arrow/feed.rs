//! A batch as an operator is fed with it: every row in its order, nothing left out.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::gaps::{self, Gaps};
use super::input::column;
use super::keys::float;
use super::keys::names::{Named, Names};
use super::keys::unpacked;
use super::query::{Query, find};
use super::spec::{InvalidGap, Spec};
use super::values;
use crate::aggregate::column::Column;
use crate::error::{Error, Result};
use crate::time::Time;

/// The rows of a batch.
pub struct Feed {
    names: Named,
    keys: Vec<ArrayRef>,
    times: Int64Array,
    ticks: Option<BooleanArray>,
    gaps: Option<Gaps>,
    numbers: Option<Int64Array>,
    values: Option<NullBuffer>,
    inputs: Vec<ArrayRef>,
}

impl Feed {
    /// Picks the columns of an operator out of a batch.
    pub fn read(spec: &Spec, query: &Query, names: &Names, batch: &RecordBatch) -> Result<Self> {
        let column = |name: &str| column(batch, name);
        let keys = query.keys.iter().map(|field| column(field.name())).collect::<Result<Vec<_>>>()?;
        let time = values::cast(&column(query.time.name())?, query.time.data_type())?;
        let ticks = query.tick.as_ref().map(|name| values::cast(&column(name)?, &DataType::Boolean)).transpose()?;
        let number = |name: &str| -> Result<Int64Array> {
            Ok(values::cast(&values::unpack(&column(name)?)?, &DataType::Int64)?.as_primitive().clone())
        };
        let value = spec.kafka.as_ref().and_then(|kafka| kafka.value.as_ref());
        let inputs = query.inputs.iter().map(|taken| {
            let array = column(taken.field.name())?;
            values::canonical(&if taken.canonical_floats { float::canonical(&values::unpack(&array)?)? } else { array })
        });
        Ok(Self {
            names: names.of(&keys)?,
            times: values::canonical(&time)?.as_primitive::<Int64Type>().clone(),
            ticks: ticks.map(|ticks| ticks.as_boolean().clone()),
            gaps: Gaps::read(query, batch)?,
            numbers: spec.inputs.as_ref().map(|inputs| number(&inputs.column)).transpose()?,
            values: value.map(|name| column(name)).transpose()?.and_then(|array| array.logical_nulls()),
            inputs: inputs.collect::<Result<_>>()?,
            keys,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.times.len()
    }

    /// The times; those of rows without one mean nothing.
    pub fn times(&self) -> &[Time] {
        Time::slice(self.times.values())
    }

    /// The columns that a bank of the query's aggregates takes.
    pub fn columns(&self, query: &Query) -> Result<Vec<Column<'_>>> {
        let taken = query.aggregates.iter().flat_map(|planned| &planned.inputs);
        taken.filter_map(|&input| self.inputs.get(input)).map(values::view).collect()
    }

    /// The key of a row.
    pub fn name(&self, row: usize) -> Option<&[u8]> {
        self.names.get(row)
    }

    /// The time of a row.
    pub fn time(&self, row: usize) -> Option<Time> {
        (row < self.times.len() && self.times.is_valid(row)).then(|| Time(self.times.value(row)))
    }

    /// Whether a row is a tick.
    pub fn is_tick(&self, row: usize) -> bool {
        self.ticks.as_ref().is_some_and(|ticks| row < ticks.len() && ticks.is_valid(row) && ticks.value(row))
    }

    /// Whether the record value of a row is null.
    pub fn lacks_value(&self, row: usize) -> bool {
        self.values.as_ref().is_some_and(|values| row < values.len() && values.is_null(row))
    }

    /// The gap of a row, in ticks of the time column. `policy` tells whether a bad one is an error.
    pub fn gap(&self, row: usize, policy: InvalidGap, query: &Query) -> Result<Option<i64>> {
        let Some(gaps) = &self.gaps else { return Ok(None) };
        match self.time(row) {
            Some(time) if policy == InvalidGap::Error && !gaps.is_good(row) && self.name(row).is_some() => {
                Err(gaps::refused(query, &self.keys, row, time)?)
            }
            _ => Ok(gaps.asked(row)),
        }
    }

    /// The input of a row, of a cogroup of `count` inputs; none for all of them, which only a tick can mean.
    pub fn input(&self, row: usize, count: usize) -> Result<Option<usize>> {
        let Some(numbers) = &self.numbers else { return Ok(Some(0)) };
        if !numbers.is_valid(row) && self.is_tick(row) {
            return Ok(None);
        }
        let number = numbers.is_valid(row).then(|| numbers.value(row));
        match number.and_then(|number| usize::try_from(number).ok()).filter(|&number| number < count) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(Error::Record { column: "input".into(), reason: format!("input {number:?} of row {row}; allowed: 0 to {}", count - 1) })
            }
        }
    }
}

/// The columns beside those of a query that a spec names are there and have their types.
pub fn check(spec: &Spec, input: &arrow_schema::Schema) -> Result<()> {
    if let Some(inputs) = &spec.inputs {
        let field = find(input, "inputs", &inputs.column)?;
        if !unpacked(field.data_type()).is_integer() {
            return Err(Error::ColumnType {
                argument: "inputs".into(),
                column: inputs.column.clone(),
                got: field.data_type().to_string(),
                allowed: "an integer".into(),
            });
        }
        if inputs.count == 0 {
            return Err(Error::Argument { argument: "inputs".into(), got: "0".into(), allowed: "one or more".into() });
        }
    }
    if let Some(value) = spec.kafka.as_ref().and_then(|kafka| kafka.value.as_ref()) {
        find(input, "value", value)?;
    }
    Ok(())
}

/// Whether a unit is finer than a microsecond or coarser, for lengths that are given in microseconds.
pub fn unit(time: &DataType) -> Result<TimeUnit> {
    match time {
        DataType::Timestamp(unit, _) => Ok(*unit),
        _ => Err(Error::Internal("a time is a timestamp")),
    }
}
