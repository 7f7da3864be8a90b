//! The rows of a batch for the record operator. It gets all rows in order.

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;

use super::columns::QueryColumns;
use super::end_column::EndColumn;
use super::faults::{self, Faults};
use super::gap_column::GapColumn;
use super::rule_columns::RuleColumns;
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::key::KeyId;
use crate::core::operator::record::{Fault, Record};
use crate::core::operator::stream_time::Source;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use crate::keys::KeyInterner;
use crate::keys::sort_key::{SortKeyRows, SortKeys};
use crate::plan::cogroup::Cogroup;
use crate::plan::query::Query;
use crate::plan::window_lengths::WindowLengths;

/// The source of all records if sources have no names.
pub(crate) const SOURCE: Source = Source(0);

/// The rows of a batch.
pub(crate) struct EventBatch {
    sort_keys: SortKeyRows,
    /// The key number of each row, if `sort_keys` has one entry per key instead of one per row.
    ids: Option<Vec<KeyId>>,
    keys: Vec<ArrayRef>,
    times: Int64Array,
    ends: Option<EndColumn>,
    /// The gap of all records, if they have none of their own.
    gap: Span,
    gaps: Option<GapColumn>,
    faults: Faults,
    /// Where rules end sessions, and the order of rows of one time.
    rules: RuleColumns,
    /// The input of each row, if the query is a cogroup.
    cogroup: Option<(Cogroup, Int64Array)>,
    /// The number of each row's source, if sources have names.
    source_numbers: Option<Int64Array>,
    inputs: Vec<ArrayRef>,
}

/// One row of the input.
pub(crate) enum Event<'a> {
    /// Only advances stream time.
    Tick {
        /// Its input in a cogroup, or `None` for all inputs.
        input: Option<usize>,
        /// Its source, or `None` for all known sources.
        source: Option<Source>,
        /// Its time.
        time: Option<Time>,
    },
    /// A record that is in no window.
    Bad(Fault),
    /// A record. Its row is its number in the batch.
    Record(Record<'a, u32>),
}

impl EventBatch {
    /// Reads the rows of a batch and computes a sort key for each row.
    pub(crate) fn read(query: &Query, sort_keys: &SortKeys, batch: &RecordBatch) -> Result<Self> {
        let columns = QueryColumns::read(query, batch)?;
        let keys = sort_keys.of(&columns.keys)?;
        Self::new(query, columns, keys, None)
    }

    /// Like [`Self::read`], but numbers the keys and encodes each distinct key only once.
    pub(crate) fn read_numbered(
        query: &Query,
        sort_keys: &SortKeys,
        numbers: &mut KeyInterner,
        batch: &RecordBatch,
    ) -> Result<Self> {
        let columns = QueryColumns::read(query, batch)?;
        let mut ids = Vec::with_capacity(batch.num_rows());
        numbers.clear();
        numbers.intern(&columns.keys, &mut ids)?;
        // Keys are numbered in order of first appearance.
        let mut firsts: Vec<u32> = Vec::new();
        for (row, id) in (0..).zip(&ids) {
            if id.0 as usize == firsts.len() {
                firsts.push(row);
            }
        }
        let firsts = UInt32Array::from(firsts);
        let distinct = columns
            .keys
            .iter()
            .map(|column| take(column, &firsts, None))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        Self::new(query, columns, sort_keys.of(&distinct)?, Some(ids))
    }

    fn new(
        query: &Query,
        columns: QueryColumns,
        sort_keys: SortKeyRows,
        ids: Option<Vec<KeyId>>,
    ) -> Result<Self> {
        let inputs = QueryColumns::canonical_inputs(query, &columns.inputs)?;
        let numbered = |cogroup: &Cogroup| {
            Ok::<_, Error>((cogroup.clone(), cogroup.numbers(&inputs)?.clone()))
        };
        Ok(Self {
            sort_keys,
            ids,
            times: columns.time,
            ends: columns.ends,
            gap: match query.windows {
                WindowLengths::Session(gap) => gap.longest(),
                WindowLengths::Sliding(_) => Span(0),
            },
            gaps: columns.gaps,
            faults: columns.faults,
            rules: columns.rules,
            cogroup: query.cogroup.as_ref().map(numbered).transpose()?,
            source_numbers: columns.source_numbers,
            keys: columns.keys,
            inputs,
        })
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.times.len()
    }

    /// The key columns.
    pub(crate) fn keys(&self) -> &[ArrayRef] {
        &self.keys
    }

    /// The times. Entries of rows without a time are meaningless.
    pub(crate) fn times(&self) -> &[Time] {
        Time::slice(self.times.values())
    }

    /// The tie of a row; the same for all rows without ties.
    pub(crate) fn tie(&self, row: usize) -> SeqNo {
        self.rules.rule(row).tie
    }

    /// The numbers that order rows of one time: their ties, or their arrivals from `first` on.
    pub(crate) fn seq_nos(&self, first: SeqNo) -> Vec<SeqNo> {
        let arrivals = || (first..).take(self.rows()).collect();
        self.rules.all_seq_nos().unwrap_or_else(arrivals)
    }

    /// The columns that the query's accumulators read.
    pub(crate) fn columns(&self, query: &Query) -> Vec<ArrayRef> {
        query.accumulator_inputs(&self.inputs)
    }

    /// The key of a row.
    pub(crate) fn name(&self, row: usize) -> Option<&[u8]> {
        match &self.ids {
            None => self.sort_keys.get(row),
            Some(ids) => ids.get(row).and_then(|&id| self.name_of(id)),
        }
    }

    /// The key with this number.
    pub(crate) fn name_of(&self, id: KeyId) -> Option<&[u8]> {
        if id == KeyId::NULL {
            None
        } else {
            self.sort_keys.get(id.0 as usize)
        }
    }

    /// The key number of each row, or empty if keys are not numbered.
    pub(crate) fn ids(&self) -> &[KeyId] {
        self.ids.as_deref().unwrap_or_default()
    }

    /// The event of a row.
    pub(crate) fn event(&self, row: usize, query: &Query) -> Result<Event<'_>> {
        let (time, input) = (self.time(row), self.input(row)?);
        let source = self.source(row, query)?;
        if self.is_tick(row) {
            return Ok(Event::Tick {
                input,
                source,
                time,
            });
        }
        if let Some(fault) = self.faults.of(row) {
            faults::check(query, fault, &self.keys, row, time)?;
            return Ok(Event::Bad(fault));
        }
        let (Some(name), Some(time)) = (self.name(row), time) else {
            return Err(Error::Internal("a record has no key or no time"));
        };
        // The record advances the time of this input and is judged by it.
        let input = input
            .filter(|_| {
                !self
                    .cogroup
                    .as_ref()
                    .is_some_and(|(cogroup, _)| cogroup.one_time)
            })
            .unwrap_or_default();
        let (rule, all) = (self.rules.rule(row), (self.gap, false));
        let own = self.gaps.as_ref().and_then(|gaps| gaps.of(row));
        let (gap, is_clamped) = own.unwrap_or(all);
        let end = self.ends.as_ref().and_then(|ends| ends.value(row));
        let gap = if rule.ends { Span(0) } else { gap };
        Ok(Event::Record(Record {
            name,
            extent: Extent::lasting(time, end.unwrap_or(time), gap),
            is_clamped,
            input,
            source: source.unwrap_or(SOURCE),
            rule,
            row: row as u32,
        }))
    }

    /// The time of a row.
    fn time(&self, row: usize) -> Option<Time> {
        (row < self.times.len() && self.times.is_valid(row)).then(|| Time(self.times.value(row)))
    }

    /// Whether a row is a tick.
    fn is_tick(&self, row: usize) -> bool {
        let records = &self.faults.records;
        row < records.len() && !records.value(row)
    }

    /// The input of a row. It is 0 unless the query is a cogroup. Only a tick can have `None`,
    /// which means all inputs.
    pub(crate) fn input(&self, row: usize) -> Result<Option<usize>> {
        match &self.cogroup {
            Some((_, numbers)) if numbers.is_null(row) && self.is_tick(row) => Ok(None),
            Some((cogroup, numbers)) => cogroup.number(numbers, row).map(Some),
            None => Ok(Some(0)),
        }
    }

    /// The source of a row, or [`SOURCE`] if sources have no names. Only a tick can have `None`,
    /// which means all known sources.
    fn source(&self, row: usize, query: &Query) -> Result<Option<Source>> {
        let Some(numbers) = &self.source_numbers else {
            return Ok(Some(SOURCE));
        };
        let number = (row < numbers.len() && numbers.is_valid(row)).then(|| numbers.value(row));
        if number.is_none() && self.is_tick(row) {
            return Ok(None);
        }
        let known = number.and_then(|number| u32::try_from(number).ok());
        known
            .map(|number| Some(Source(number)))
            .ok_or_else(|| Error::Record {
                column: query
                    .columns
                    .source_number
                    .as_ref()
                    .map_or("", |column| column.name())
                    .to_owned(),
                reason: format!(
                    "row {row} is of source {}; allowed: 0 to {}",
                    number.map_or("null".into(), |number| number.to_string()),
                    u32::MAX
                ),
            })
    }
}

/// The unit of a time column.
pub(crate) fn unit(time: &DataType) -> Result<TimeUnit> {
    match time {
        DataType::Timestamp(unit, _) => Ok(*unit),
        _ => Err(Error::Internal("a time is not a timestamp")),
    }
}
