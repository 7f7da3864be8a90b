//! Records of a sliding query as columns: keys, `time`, `arrival`, inputs.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type};
use arrow_array::{ArrayRef, RecordBatch};

use crate::array::convert::check_canonical;
use crate::array::named::unnamed;
use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::time::Time;
use crate::format::block_reader::{BlockReader, numbers};
use crate::plan::query::Query;

/// Records of a sliding query, one per row.
pub(in crate::batch) struct SlidingRecords<'t> {
    pub keys: Vec<ArrayRef>,
    pub times: &'t [Time],
    pub seq_nos: Vec<SeqNo>,
    pub inputs: Vec<ArrayRef>,
}

impl SlidingRecords<'_> {
    /// Writes the columns.
    pub(crate) fn write(self) -> Result<RecordBatch> {
        let mut columns = self.keys;
        columns.push(numbers(self.times.iter().map(|time| time.0)));
        let seq_nos = self.seq_nos.iter();
        columns.push(numbers(seq_nos.map(|seq_no| seq_no.cast_signed())));
        for input in self.inputs {
            // Blocks do not tell the precision of decimals.
            let decimals = input.as_primitive_opt::<Decimal128Type>().cloned();
            columns.push(match decimals {
                Some(decimals) => Arc::new(decimals.with_data_type(Decimal128Type::DATA_TYPE)),
                None => input,
            });
        }
        unnamed(columns)
    }
}

impl<'a> SlidingRecords<'a> {
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
        check_canonical(inputs)?;
        Ok(Self {
            keys,
            times,
            seq_nos,
            inputs: inputs.to_vec(),
        })
    }
}
