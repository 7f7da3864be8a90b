//! A batch as an operator is fed with it: every row in its order, nothing left out.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;

use super::gap_column::{self, GapColumn};
use crate::aggregate::column::Column;
use crate::arrow::array::convert;
use crate::arrow::array::named::column;
use crate::arrow::array::named::find;
use crate::arrow::keys::KeyInterner;
use crate::arrow::keys::sort_key::{SortKeyRows, SortKeys};
use crate::arrow::plan::cogroup::Cogroup;
use crate::arrow::plan::input_column::InputColumn;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::{InvalidGap, Spec};
use crate::error::{Error, Result};
use crate::key::KeyId;
use crate::operator::record::Record;
use crate::operator::stream_time::Source;
use crate::time::Time;

/// The one source there is where none is named.
pub const SOURCE: Source = Source(0);

/// The rows of a batch.
pub struct EventBatch {
    names: SortKeyRows,
    /// The number of each row's key, where names are those of keys and not of rows.
    ids: Option<Vec<KeyId>>,
    keys: Vec<ArrayRef>,
    times: Int64Array,
    ticks: Option<BooleanArray>,
    gaps: Option<GapColumn>,
    /// The input of each row of a cogroup.
    origin: Option<(Cogroup, Int64Array)>,
    values: Option<NullBuffer>,
    inputs: Vec<ArrayRef>,
}

/// A row in its order.
pub enum Event<'a> {
    /// It moves stream time and is nothing else.
    Tick {
        /// Its input, of a cogroup; none for all of them.
        input: Option<usize>,
        /// Its time.
        time: Option<Time>,
    },
    /// A record; its row is its number in the batch.
    Record(Record<'a, u32>),
}

impl EventBatch {
    /// Picks the columns of an operator out of a batch.
    pub fn read(spec: &Spec, query: &Query, names: &SortKeys, batch: &RecordBatch) -> Result<Self> {
        Self::picked(spec, query, batch, |keys| Ok((names.of(keys)?, None)))
    }

    /// The same, and numbers the keys: each of them is named once.
    pub fn read_numbered(
        spec: &Spec,
        query: &Query,
        names: &SortKeys,
        numbers: &mut KeyInterner,
        batch: &RecordBatch,
    ) -> Result<Self> {
        Self::picked(spec, query, batch, |keys| {
            let mut ids = Vec::with_capacity(batch.num_rows());
            numbers.clear();
            numbers.intern(keys, &mut ids)?;
            // Numbers are given in the order of first appearance.
            let mut firsts: Vec<u32> = Vec::new();
            for (row, id) in (0..).zip(&ids) {
                if id.0 as usize == firsts.len() {
                    firsts.push(row);
                }
            }
            let firsts = UInt32Array::from(firsts);
            let firsts = keys
                .iter()
                .map(|column| take(column, &firsts, None))
                .collect::<std::result::Result<Vec<_>, _>>()?;
            Ok((names.of(&firsts)?, Some(ids)))
        })
    }

    fn picked(
        spec: &Spec,
        query: &Query,
        batch: &RecordBatch,
        named: impl FnOnce(&[ArrayRef]) -> Result<(SortKeyRows, Option<Vec<KeyId>>)>,
    ) -> Result<Self> {
        let column = |name: &str| column(batch, name);
        let keys = query
            .keys
            .iter()
            .map(|field| column(field.name()))
            .collect::<Result<Vec<_>>>()?;
        let time = convert::cast(&column(query.time.name())?, query.time.data_type())?;
        let ticks = query
            .tick
            .as_ref()
            .map(|name| convert::cast(&column(name)?, &DataType::Boolean))
            .transpose()?;
        let value = spec.kafka.as_ref().and_then(|kafka| kafka.value.as_ref());
        let input = |taken: &InputColumn| taken.canonical(column(taken.field.name())?);
        let inputs = query.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
        let numbered =
            |origin: &Cogroup| Ok::<_, Error>((origin.clone(), origin.numbers(&inputs)?.clone()));
        let origin = query.origin.as_ref().map(numbered).transpose()?;
        let (names, ids) = named(&keys)?;
        Ok(Self {
            names,
            ids,
            times: convert::canonical(&time)?
                .as_primitive::<Int64Type>()
                .clone(),
            ticks: ticks.map(|ticks| ticks.as_boolean().clone()),
            gaps: GapColumn::read(query, batch)?,
            origin,
            values: value
                .map(|name| column(name))
                .transpose()?
                .and_then(|array| array.logical_nulls()),
            inputs,
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
        query
            .positions()
            .filter_map(|position| self.inputs.get(position))
            .map(convert::view)
            .collect()
    }

    /// The key of a row.
    pub fn name(&self, row: usize) -> Option<&[u8]> {
        match &self.ids {
            None => self.names.get(row),
            Some(ids) => ids.get(row).and_then(|&id| self.name_of(id)),
        }
    }

    /// The key of a number.
    pub fn name_of(&self, id: KeyId) -> Option<&[u8]> {
        if id == KeyId::NULL {
            None
        } else {
            self.names.get(id.0 as usize)
        }
    }

    /// The numbers of the rows' keys, if they have any.
    pub fn ids(&self) -> &[KeyId] {
        self.ids.as_deref().unwrap_or_default()
    }

    /// A row, decoded.
    pub fn event(&self, row: usize, query: &Query) -> Result<Event<'_>> {
        let (time, input) = (self.time(row), self.input(row)?);
        if self.is_tick(row) {
            return Ok(Event::Tick { input, time });
        }
        let gap = self.gap(row, query)?;
        // What moves and judges by the time of an input.
        let input = input
            .filter(|_| {
                !self
                    .origin
                    .as_ref()
                    .is_some_and(|(origin, _)| origin.one_time)
            })
            .unwrap_or_default();
        Ok(Event::Record(Record {
            key: self.name(row),
            time,
            gap,
            input,
            source: SOURCE,
            row: row as u32,
        }))
    }

    /// The time of a row.
    fn time(&self, row: usize) -> Option<Time> {
        (row < self.times.len() && self.times.is_valid(row)).then(|| Time(self.times.value(row)))
    }

    /// Whether a row is a tick.
    fn is_tick(&self, row: usize) -> bool {
        self.ticks
            .as_ref()
            .is_some_and(|ticks| row < ticks.len() && ticks.is_valid(row) && ticks.value(row))
    }

    /// Whether the record value of a row is null.
    pub fn lacks_value(&self, row: usize) -> bool {
        self.values
            .as_ref()
            .is_some_and(|values| row < values.len() && values.is_null(row))
    }

    /// The gap of a row, in ticks of the time column.
    fn gap(&self, row: usize, query: &Query) -> Result<Option<i64>> {
        let (Some(gaps), Some((_, policy))) = (&self.gaps, &query.gap) else {
            return Ok(None);
        };
        match self.time(row) {
            Some(time)
                if *policy == InvalidGap::Error
                    && !gaps.is_good(row)
                    && self.name(row).is_some() =>
            {
                Err(gap_column::refused(query, &self.keys, row, time)?)
            }
            _ => Ok(gaps.asked(row)),
        }
    }

    /// The input of a row, 0 unless the query is a cogroup; none for all of them, which only a tick
    /// can mean.
    pub fn input(&self, row: usize) -> Result<Option<usize>> {
        match &self.origin {
            Some((_, numbers)) if numbers.is_null(row) && self.is_tick(row) => Ok(None),
            Some((origin, numbers)) => origin.number(numbers, row).map(Some),
            None => Ok(Some(0)),
        }
    }
}

/// The columns beside those of a query that a spec names are there and have their types.
pub fn check(spec: &Spec, input: &arrow_schema::Schema) -> Result<()> {
    if let Some(value) = spec.kafka.as_ref().and_then(|kafka| kafka.value.as_ref()) {
        find(input, "value", value)?;
    }
    Ok(())
}

/// Whether a unit is finer than a microsecond or coarser, for lengths that are given in
/// microseconds.
pub fn unit(time: &DataType) -> Result<TimeUnit> {
    match time {
        DataType::Timestamp(unit, _) => Ok(*unit),
        _ => Err(Error::Internal("a time is a timestamp")),
    }
}
