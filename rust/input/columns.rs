//! The columns of a batch that a query reads: found, checked, and cast to the types they were
//! declared with. Batch queries and the record operator read the same.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

use super::gap_column::GapColumn;
use crate::array::dictionary::unpacked;
use crate::array::{convert, validate};
use crate::core::error::{Error, Result};
use crate::plan::over_query::{row_columns, rows_schema};
use crate::plan::query::Query;
use crate::plan::source_column::SourceColumn;

/// The columns of a batch that a query reads, without dictionaries but in keys.
pub(crate) struct QueryColumns {
    /// The key columns, in the types of the batch.
    pub keys: Vec<ArrayRef>,
    /// The time column, in its declared type.
    pub time: ArrayRef,
    /// Which rows are ticks.
    pub ticks: Option<BooleanArray>,
    /// Each row's own gap.
    pub gaps: Option<GapColumn>,
    /// Which rows end their session.
    pub ends: Option<BooleanBuffer>,
    /// The columns that aggregates take, in their declared types.
    pub inputs: Vec<ArrayRef>,
    /// Which rows have a record value, of a query with Kafka's treatment of nulls.
    pub values: Option<NullBuffer>,
    /// The number of each row's source partition, where sources have names.
    pub source_numbers: Option<Int64Array>,
    /// Of a query for rows, all columns of its output.
    pub output: Vec<ArrayRef>,
}

impl QueryColumns {
    /// The columns of a batch.
    ///
    /// # Errors
    ///
    /// A column is missing, does not hold what its type says, or holds a value that the declared
    /// type does not. A batch of more rows than have numbers.
    pub fn read(query: &Query, batch: &RecordBatch) -> Result<Self> {
        if u32::try_from(batch.num_rows()).is_err() {
            return Err(Error::Format {
                what: "batch",
                reason: format!("{} rows, 2^32 or more", batch.num_rows()),
            });
        }
        let mut reader = CheckedColumns {
            batch,
            checked: Vec::new(),
        };
        let columns = &query.columns;
        Ok(Self {
            keys: columns
                .keys
                .iter()
                .map(|key| reader.checked(key))
                .collect::<Result<_>>()?,
            time: reader.cast(&columns.time, query.time.data_type())?,
            ticks: columns
                .tick
                .as_ref()
                .map(|tick| reader.cast(tick, &DataType::Boolean))
                .transpose()?
                .map(|ticks| ticks.as_boolean().clone()),
            gaps: columns
                .gap
                .as_ref()
                .map(|gap| GapColumn::read(query, &reader.checked(gap)?))
                .transpose()?
                .flatten(),
            ends: columns
                .ends
                .as_ref()
                .map(|ends| reader.cast(ends, &DataType::Boolean))
                .transpose()?
                .map(|ends| are_true(ends.as_boolean())),
            inputs: query
                .inputs
                .iter()
                .map(|input| reader.cast(&input.source, input.field.data_type()))
                .collect::<Result<_>>()?,
            values: columns
                .value
                .as_ref()
                .map(|value| reader.checked(value))
                .transpose()?
                .and_then(|array| array.logical_nulls()),
            source_numbers: columns
                .source_number
                .as_ref()
                .map(|number| reader.cast(number, &DataType::Int64))
                .transpose()?
                .map(|numbers| numbers.as_primitive::<Int64Type>().clone()),
            output: row_columns(query)
                .iter()
                .zip(rows_schema(query).fields())
                .map(|(column, field)| reader.cast(column, field.data_type()))
                .collect::<Result<_>>()?,
        })
    }

    /// The times in ticks, with the nulls of the column.
    ///
    /// # Errors
    ///
    /// None of a time column that was read.
    pub fn times(time: &ArrayRef) -> Result<Int64Array> {
        Ok(convert::canonical(time)?
            .as_primitive::<Int64Type>()
            .clone())
    }

    /// The inputs as aggregates take them.
    ///
    /// # Errors
    ///
    /// A value that aggregates cannot take.
    pub fn canonical_inputs(query: &Query, inputs: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        query
            .inputs
            .iter()
            .zip(inputs)
            .map(|(input, array)| input.canonical(array))
            .collect()
    }
}

/// Which values are true; null is not.
pub(super) fn are_true(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        None => values.values().clone(),
    }
}

/// The columns of one batch; each is checked once.
struct CheckedColumns<'b> {
    batch: &'b RecordBatch,
    /// Positions of columns that hold what their types say.
    checked: Vec<usize>,
}

impl CheckedColumns<'_> {
    fn checked(&mut self, column: &SourceColumn) -> Result<ArrayRef> {
        let array = column.array(self.batch)?;
        let position = column.position(self.batch)?;
        if !self.checked.contains(&position) {
            validate::check(column.name(), array)?;
            self.checked.push(position);
        }
        Ok(Arc::clone(array))
    }

    fn cast(&mut self, column: &SourceColumn, declared: &DataType) -> Result<ArrayRef> {
        convert::cast(&self.checked(column)?, &unpacked(declared))
    }
}
