//! Rows of a query for rows as columns: all input columns, and `arrival`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::array::named::unnamed;
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::format::block_reader::{BlockReader, numbers};
use crate::plan::query::Query;
use crate::plan::rows_with_windows::rows_schema;

/// The row layout of one query.
pub(in crate::batch) struct WholeRows {
    schema: SchemaRef,
}

impl WholeRows {
    /// Creates the layout for a query.
    pub(crate) fn new(query: &Query) -> Self {
        let seq_no = Arc::new(Field::new("arrival", DataType::Int64, false));
        let fields = rows_schema(query).fields().iter().cloned().chain([seq_no]);
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        }
    }

    /// No rows.
    pub(crate) fn empty(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.schema))
    }

    /// Joins input columns and arrivals into rows with column names, as used in this process.
    pub(crate) fn join(
        &self,
        mut columns: Vec<ArrayRef>,
        seq_nos: &[SeqNo],
    ) -> Result<RecordBatch> {
        columns.push(numbers(seq_nos.iter().map(|seq_no| seq_no.cast_signed())));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// The arrival of each row.
    pub(crate) fn seq_nos<'a>(&self, rows: &'a RecordBatch) -> Result<&'a [i64]> {
        let last = rows.columns().last();
        let seq_nos = last.and_then(|array| array.as_primitive_opt::<Int64Type>());
        Ok(seq_nos
            .ok_or(Error::Internal("a row has no arrival number"))?
            .values())
    }

    /// Writes rows as the columns of a block.
    pub(crate) fn write(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        unnamed(rows.columns().to_vec())
    }

    /// Reads what [`Self::write`] wrote; other columns are an error.
    pub(crate) fn read(&self, block: &RecordBatch) -> Result<RecordBatch> {
        let unexpected = |_| BlockReader::new(block).unexpected();
        RecordBatch::try_new(Arc::clone(&self.schema), block.columns().to_vec()).map_err(unexpected)
    }
}
