//! Records of a session query as columns: keys, `time`, `end` if records have one, `gap` if records have their own or can end
//! their session, `mark` if they have marks, `tie` or `arrival` if the query needs it, inputs.
//!
//! | `gap` | of a record |
//! |---|---|
//! | 0 | that ends its session |
//! | -1 | whose gap is zero |
//! | any other | with this gap, in ticks |

use std::iter::repeat;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_buffer::ScalarBuffer;

use crate::array::convert;
use crate::array::named::unnamed;
use crate::core::error::Result;
use crate::core::time::Span;
use crate::format::block_reader::{BlockReader, numbers};
use crate::input::records::Records;
use crate::keys::shard_hash::ShardHash;
use crate::plan::input_column::InputColumn;
use crate::plan::query::Query;
use crate::plan::window_lengths::WindowLengths;

/// The gap of a record that ends its session.
const ENDS_SESSION: i64 = 0;

/// The gap of a record whose gap is zero.
const NO_GAP: i64 = -1;

/// Writes the columns of records.
pub(in crate::batch) fn write(query: &Query, records: &Records) -> Result<RecordBatch> {
    let mut columns = ShardHash::new(&query.keys)?.read(&records.keys)?;
    columns.push(numbers(records.times().iter().map(|time| time.0)));
    if query.columns.end.is_some() {
        columns.push(numbers(records.ends().iter().map(|end| end.0)));
    }
    if query.has_own_gaps() {
        columns.push(numbers(gap_numbers(query, records)));
    }
    let marks = (query.columns.rules.have_marks()).then(|| records.marks());
    let seq_nos = query.needs_seq_no.then(|| records.seq_nos());
    for own in [marks, seq_nos].into_iter().flatten() {
        columns.push(numbers(own.iter().map(|number| number.cast_signed())));
    }
    columns.extend_from_slice(records.inputs());
    unnamed(columns)
}

/// Reads what [`write()`] wrote. Other columns are an error.
pub(in crate::batch) fn read(query: &Query, block: &RecordBatch) -> Result<Records> {
    let mut columns = BlockReader::new(block);
    let keys = ShardHash::new(&query.keys)?.read(columns.arrays(query.keys.len())?)?;
    let times = match columns.rest.first() {
        Some(times) => Arc::clone(times),
        None => return Err(columns.unexpected()),
    };
    columns.numbers()?;
    let ends = match query.columns.end {
        Some(_) => columns.numbers()?.to_vec().into(),
        None => ScalarBuffer::default(),
    };
    let own: &[i64] = match query.has_own_gaps() {
        true => columns.numbers()?,
        false => &[],
    };
    let gap = |&number: &i64| Span(number.max(0).cast_unsigned());
    let gaps = own.iter().map(gap).collect();
    let session_ends = match query.columns.rules.ends {
        Some(_) => own.iter().map(|&number| number == ENDS_SESSION).collect(),
        None => Vec::new(),
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
    let inputs = inputs.to_vec();
    Ok(Records::of(
        keys,
        (times, ends),
        gaps,
        (marks.into(), session_ends),
        seq_nos,
        inputs,
    ))
}

/// The column `gap`.
fn gap_numbers(query: &Query, records: &Records) -> Vec<i64> {
    let common = match query.windows {
        WindowLengths::Session(gap) => gap.longest(),
        WindowLengths::Sliding(_) => Span::default(),
    };
    let gaps = records.gaps().iter().copied().chain(repeat(common));
    let ends = records.session_ends().iter().copied();
    let rows = gaps.zip(ends.chain(repeat(false))).take(records.rows());
    rows.map(|own| match own {
        (_, true) => ENDS_SESSION,
        (Span(0), false) => NO_GAP,
        (Span(gap), false) => gap.cast_signed(),
    })
    .collect()
}

/// Whether an array has the canonical type of an input column.
fn is_of(input: &InputColumn, array: &ArrayRef) -> bool {
    convert::canonical(&new_empty_array(input.field.data_type()))
        .is_ok_and(|empty| empty.data_type() == array.data_type())
}
