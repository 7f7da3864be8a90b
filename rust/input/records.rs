//! A batch of the user's rows. Columns are selected by name. Rows that cannot be windowed are
//! excluded and counted.

use std::iter::repeat;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use arrow_select::concat::concat;
use arrow_select::filter::FilterBuilder;
use arrow_select::take::take;

use super::columns::QueryColumns;
use crate::array::compact::compact;
use crate::array::convert;
use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::operator::counters::Counters;
use crate::core::session::session_windows::Gap;
use crate::core::sort;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use crate::plan::query::{Query, QueryOutput};

/// Rows with a key and a time.
pub(crate) struct Records {
    /// The key columns.
    pub keys: Vec<ArrayRef>,
    times: ArrayRef,
    ends: ScalarBuffer<i64>,
    gaps: Vec<Span>,
    marks: ScalarBuffer<u64>,
    session_ends: Vec<bool>,
    seq_nos: Vec<SeqNo>,
    inputs: Vec<ArrayRef>,
    /// All output columns, if the query returns rows.
    pub output: Vec<ArrayRef>,
}

impl Records {
    /// Reads the rows of a batch that can be windowed. The first one gets the number `seq_no`.
    pub(crate) fn read(
        query: &Query,
        batch: &RecordBatch,
        seq_no: SeqNo,
        counters: &mut Counters,
    ) -> Result<Self> {
        let number = |kept: &BooleanBuffer| match query.needs_seq_no {
            true => (seq_no..).take(kept.count_set_bits()).collect(),
            false => Vec::new(),
        };
        Self::read_numbered(query, batch, number, counters)
    }

    /// Like [`Self::read`], but `number` receives which rows are kept and returns their numbers. It
    /// returns nothing if the query needs no numbers.
    pub(crate) fn read_numbered(
        query: &Query,
        batch: &RecordBatch,
        number: impl FnOnce(&BooleanBuffer) -> Vec<SeqNo>,
        counters: &mut Counters,
    ) -> Result<Self> {
        let QueryColumns {
            keys,
            time,
            ends,
            gaps,
            rules,
            inputs,
            output,
            faults,
            ..
        } = QueryColumns::read(query, batch)?;
        faults.check(query, &keys, Time::slice(time.values()))?;
        faults.count(counters);
        let ends = ends.map(|ends| ends.of(&faults.good));
        let gaps = gaps.map(|gaps| gaps.in_effect(&faults.good, counters));
        let kept = match query.output_kind {
            QueryOutput::RowsWithWindows { .. } => faults.records, // those with a fault return, too
            _ => faults.good,
        };
        let arrivals = number(&kept);
        let seq_nos = rules.seq_nos(&kept).unwrap_or(arrivals);
        let (marks, session_ends) = (rules.marks(&kept), rules.ends(&kept));
        let all = kept.count_set_bits() == kept.len();
        let predicate = (!all).then(|| {
            FilterBuilder::new(&BooleanArray::new(kept, None))
                .optimize()
                .build()
        });
        let pick = |array: &ArrayRef| match &predicate {
            Some(predicate) => Ok(predicate.filter(array)?),
            None => Ok(Arc::clone(array)),
        };
        let pick_all = |arrays: &[ArrayRef]| arrays.iter().map(pick).collect::<Result<Vec<_>>>();
        let inputs = QueryColumns::canonical_inputs(query, &pick_all(&inputs)?)?;
        query
            .cogroup
            .iter()
            .try_for_each(|cogroup| cogroup.check_rows(&inputs))?;
        Ok(Self {
            keys: pick_all(&keys)?,
            times: pick(&(Arc::new(time) as ArrayRef))?,
            ends: ends.unwrap_or_default(),
            gaps: gaps.unwrap_or_default(),
            marks,
            session_ends,
            seq_nos,
            inputs,
            output: pick_all(&output)?,
        })
    }

    /// Creates records from the columns of a block.
    pub(crate) fn of(
        keys: Vec<ArrayRef>,
        (times, ends): (ArrayRef, ScalarBuffer<i64>),
        gaps: Vec<Span>,
        (marks, session_ends): (ScalarBuffer<u64>, Vec<bool>),
        seq_nos: Vec<SeqNo>,
        inputs: Vec<ArrayRef>,
    ) -> Self {
        Self {
            keys,
            times,
            ends,
            gaps,
            marks,
            session_ends,
            seq_nos,
            inputs,
            output: Vec::new(),
        }
    }

    /// Copies rows, in the order of `rows`. Their keys hold on to no values of other rows.
    pub(crate) fn pick(&self, rows: &UInt32Array) -> Result<Self> {
        let pick = |array: &ArrayRef| Ok(take(array, rows, None)?);
        Ok(Self {
            keys: self
                .keys
                .iter()
                .map(|key| compact(pick(key)?))
                .collect::<Result<_>>()?,
            times: pick(&self.times)?,
            ends: sort::pick_optional(&self.ends, rows.values())?.into(),
            gaps: sort::pick_optional(&self.gaps, rows.values())?,
            marks: sort::pick_optional(&self.marks, rows.values())?.into(),
            session_ends: sort::pick_optional(&self.session_ends, rows.values())?,
            seq_nos: sort::pick_optional(&self.seq_nos, rows.values())?,
            inputs: self.inputs.iter().map(pick).collect::<Result<_>>()?,
            output: self.output.iter().map(pick).collect::<Result<_>>()?,
        })
    }

    /// Joins rows of one query, in order. Dictionaries are unpacked, because the values of several
    /// could exceed the index range of one.
    pub(crate) fn concat(parts: &[Self]) -> Result<Self> {
        let join = |column: &dyn Fn(&Self) -> &[ArrayRef]| {
            let count = parts.first().map_or(0, |part| column(part).len());
            let joined = (0..count).map(|nth| {
                let arrays = parts.iter().filter_map(|part| column(part).get(nth));
                let arrays = arrays.map(convert::unpack).collect::<Result<Vec<_>>>()?;
                let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
                Ok(concat(&arrays)?)
            });
            joined.collect::<Result<Vec<_>>>()
        };
        let times: Vec<&dyn Array> = parts.iter().map(|part| part.times.as_ref()).collect();
        Ok(Self {
            keys: join(&|part| &part.keys)?,
            times: concat(&times)?,
            ends: parts
                .iter()
                .flat_map(|part| part.ends.iter().copied())
                .collect(),
            gaps: parts.iter().map(Self::gaps).collect::<Vec<_>>().concat(),
            marks: parts.iter().flat_map(Self::marks).copied().collect(),
            session_ends: parts.iter().flat_map(Self::session_ends).copied().collect(),
            seq_nos: parts.iter().flat_map(Self::seq_nos).copied().collect(),
            inputs: join(&|part| &part.inputs)?,
            output: join(&|part| &part.output)?,
        })
    }

    /// The bytes that the keys, the times and the inputs hold in memory.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.keys.iter().chain([&self.times]).chain(&self.inputs);
        columns.map(Array::get_array_memory_size).sum()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.times.len()
    }

    /// Event times, in ticks of the time column.
    pub(crate) fn times(&self) -> &[Time] {
        Time::slice(self.times.as_primitive::<Int64Type>().values())
    }

    /// The end of each row, or empty if the query has no ends.
    pub(crate) fn ends(&self) -> &[Time] {
        Time::slice(&self.ends)
    }

    /// The effective gaps in ticks of the time column, or empty if all records have the same gap.
    pub(crate) fn gaps(&self) -> &[Span] {
        &self.gaps
    }

    /// The extent of each record. `gap` is that of the query.
    pub(crate) fn extents(&self, gap: Gap) -> impl Iterator<Item = Extent> {
        let gaps = self.gaps().iter().copied().chain(repeat(gap.longest()));
        let own = self.times().iter().zip(gaps).enumerate();
        own.map(|(row, (&time, gap))| {
            let end = self.ends().get(row).copied().unwrap_or(time);
            Extent::lasting(time, end, gap)
        })
    }

    /// The mark of each row, or empty if records have none.
    pub(crate) fn marks(&self) -> &[u64] {
        &self.marks
    }

    /// Whether each row ends its session, or empty if rows cannot.
    pub(crate) fn session_ends(&self) -> &[bool] {
        &self.session_ends
    }

    /// The tie of each row, or its position in the whole input; empty if the query needs neither.
    pub(crate) fn seq_nos(&self) -> &[SeqNo] {
        &self.seq_nos
    }

    /// The inputs of the query.
    pub(crate) fn inputs(&self) -> &[ArrayRef] {
        &self.inputs
    }
}
