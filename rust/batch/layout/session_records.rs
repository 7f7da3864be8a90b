//! Records of a session query as columns: keys, `time`, `gap` if records have their own or can end
//! their session, `mark` if they have marks, `tie` or `arrival` if the query needs it, inputs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};

use crate::array::convert;
use crate::array::named::unnamed;
use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::time::{Span, Time};
use crate::format::block_reader::{BlockReader, numbers};
use crate::input::records::Records;
use crate::plan::input_column::InputColumn;
use crate::plan::query::Query;

/// Records of a session query, one per row.
pub(in crate::batch) struct SessionRecords<'a> {
    pub keys: Vec<ArrayRef>,
    pub times: &'a [Time],
    /// The gap of each record, or `None` if all have the same.
    pub gaps: Option<Vec<Span>>,
    /// The mark of each record, or `None` if records have none.
    pub marks: Option<Vec<u64>>,
    /// The tie or the arrival of each record, or `None` if the query needs neither.
    pub seq_nos: Option<Vec<SeqNo>>,
    pub inputs: Vec<ArrayRef>,
}

impl SessionRecords<'_> {
    /// Writes the columns.
    pub(crate) fn write(self) -> Result<RecordBatch> {
        let mut columns = self.keys;
        columns.push(numbers(self.times.iter().map(|time| time.0)));
        if let Some(gaps) = self.gaps {
            columns.push(numbers(gaps.iter().map(|gap| gap.0.cast_signed())));
        }
        for own in [self.marks, self.seq_nos].into_iter().flatten() {
            columns.push(numbers(own.iter().map(|number| number.cast_signed())));
        }
        columns.extend(self.inputs);
        unnamed(columns)
    }
}

/// Reads what [`SessionRecords::write`] wrote. Returns the keys and the records without keys. Other
/// columns are an error.
pub(in crate::batch) fn read(
    query: &Query,
    block: &RecordBatch,
) -> Result<(Vec<ArrayRef>, Records)> {
    let mut columns = BlockReader::new(block);
    let keys = columns.arrays(query.keys.len())?.to_vec();
    let times = match columns.rest.first() {
        Some(times) => Arc::clone(times),
        None => return Err(columns.unexpected()),
    };
    columns.numbers()?;
    let gaps = if query.has_own_gaps() {
        let gaps = columns.numbers()?.iter();
        Some(gaps.map(|gap| Span(gap.cast_unsigned())).collect())
    } else {
        None
    };
    let mut numbers = |are_there: bool| -> Result<Vec<u64>> {
        if !are_there {
            return Ok(Vec::new());
        }
        let numbers = columns.numbers()?.iter();
        Ok(numbers.map(|number| number.cast_unsigned()).collect())
    };
    let marks = numbers(query.columns.rules.have_marks())?;
    let seq_nos = numbers(query.needs_seq_no)?;
    let inputs = columns.arrays(query.inputs.len())?;
    let fit = query
        .inputs
        .iter()
        .zip(inputs)
        .all(|(input, array)| is_of(input, array));
    if !fit || !columns.rest.is_empty() {
        return Err(columns.unexpected());
    }
    Ok((
        keys,
        Records::of(times, gaps, marks.into(), seq_nos, inputs.to_vec()),
    ))
}

/// Whether an array has the canonical type of an input column.
fn is_of(input: &InputColumn, array: &ArrayRef) -> bool {
    convert::canonical(&new_empty_array(input.field.data_type()))
        .is_ok_and(|empty| empty.data_type() == array.data_type())
}
