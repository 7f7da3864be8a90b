//! Records of a sliding query as columns: keys, `time`, `arrival`, inputs.

use arrow_array::{ArrayRef, RecordBatch};

use crate::array::named::unnamed;
use crate::array::{convert, result_array};
use crate::core::aggregate::SeqNo;
use crate::core::aggregate::column::Column;
use crate::core::error::Result;
use crate::core::time::Time;
use crate::format::block_reader::{BlockReader, numbers};
use crate::plan::query::Query;

/// Records of a sliding query, one per row.
pub(in crate::batch) struct SlidingRecords<'t, 'v> {
    pub keys: Vec<ArrayRef>,
    pub times: &'t [Time],
    pub seq_nos: Vec<SeqNo>,
    pub inputs: Vec<Column<'v>>,
}

impl SlidingRecords<'_, 'static> {
    /// Writes the columns.
    pub(crate) fn write(self) -> Result<RecordBatch> {
        let mut columns = self.keys;
        columns.push(numbers(self.times.iter().map(|time| time.0)));
        let seq_nos = self.seq_nos.iter();
        columns.push(numbers(seq_nos.map(|seq_no| seq_no.cast_signed())));
        for input in self.inputs {
            columns.push(result_array::array(input)?);
        }
        unnamed(columns)
    }
}

impl<'a> SlidingRecords<'a, 'a> {
    /// Reads what [`Self::write`] wrote; other columns are an error.
    pub(crate) fn read(query: &Query, block: &'a RecordBatch) -> Result<Self> {
        let mut columns = BlockReader::new(block);
        let keys = columns.arrays(query.keys.len())?.to_vec();
        let times = Time::slice(columns.numbers()?);
        let seq_nos = columns.numbers()?.iter();
        let seq_nos = seq_nos.map(|seq_no| seq_no.cast_unsigned()).collect();
        let inputs = columns.arrays(query.inputs.len())?;
        if !columns.rest.is_empty() {
            return Err(columns.unexpected());
        }
        let inputs = inputs.iter().map(convert::view);
        Ok(Self {
            keys,
            times,
            seq_nos,
            inputs: inputs.collect::<Result<_>>()?,
        })
    }
}
