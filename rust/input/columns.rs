//! The columns that a query reads from a batch: finds them, checks them, and casts them to their
//! declared types. Batch queries and the record operator share this code.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::end_column::EndColumn;
use super::faults::Faults;
use super::gap_column::GapColumn;
use super::rule_columns::RuleColumns;
use crate::array::dictionary::unpacked;
use crate::array::true_values::are_true;
use crate::array::{convert, validate};
use crate::core::error::{Error, Result};
use crate::plan::query::Query;
use crate::plan::rows_with_windows::{row_columns, rows_schema};
use crate::plan::source_column::SourceColumn;

/// The columns that a query reads from a batch. Only keys may be dictionaries.
pub(crate) struct QueryColumns {
    /// The key columns, in the types of the batch.
    pub keys: Vec<ArrayRef>,
    /// The time of each row in ticks.
    pub time: Int64Array,
    /// The end of each row.
    pub ends: Option<EndColumn>,
    /// The gap of each row.
    pub gaps: Option<GapColumn>,
    /// Where rules end sessions, and the order of rows of one time.
    pub rules: RuleColumns,
    /// The columns that aggregates read, in their declared types.
    pub inputs: Vec<ArrayRef>,
    /// The number of each row's source partition, if sources have names.
    pub source_numbers: Option<Int64Array>,
    /// All output columns, if the query returns rows.
    pub output: Vec<ArrayRef>,
    /// Which rows are records, and which of these are in no window.
    pub faults: Faults,
}

impl QueryColumns {
    /// Reads the columns of a batch.
    pub(crate) fn read(query: &Query, batch: &RecordBatch) -> Result<Self> {
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
        let ties = columns.tie.as_ref();
        let ties = ties.map(|tie| reader.cast(tie, &DataType::Int64));
        let mut booleans = |column: &Option<SourceColumn>| {
            let column = column.as_ref();
            let array = column.map(|column| reader.cast(column, &DataType::Boolean));
            Ok::<_, Error>(array.transpose()?.map(|array| are_true(array.as_boolean())))
        };
        let begins = booleans(&columns.rules.begins)?;
        let session_ends = booleans(&columns.rules.ends)?;
        let ticks = booleans(&columns.tick)?;
        let values = columns.rules.cut_on.iter();
        let values = values.map(|(column, _)| reader.checked(column));
        let rules = RuleColumns::read(
            query,
            ties.transpose()?
                .map(|ties| ties.as_primitive::<Int64Type>().clone()),
            (begins, session_ends),
            &values.collect::<Result<Vec<_>>>()?,
            batch.num_rows(),
        )?;
        let keys = columns.keys.iter().map(|key| reader.checked(key));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let mut times = |column: &SourceColumn| {
            let times = convert::canonical(&reader.cast(column, query.time.data_type())?)?;
            Ok::<_, Error>(times.as_primitive::<Int64Type>().clone())
        };
        let time = times(&columns.time)?;
        let ends = columns.end.as_ref().map(times).transpose()?.map(EndColumn);
        let gaps = columns
            .gap
            .as_ref()
            .map(|gap| GapColumn::read(query, &reader.checked(gap)?))
            .transpose()?
            .flatten();
        let values = columns
            .value
            .as_ref()
            .map(|value| reader.checked(value))
            .transpose()?
            .and_then(|array| array.logical_nulls());
        let faults = Faults::find(
            ticks.map_or_else(|| BooleanBuffer::new_set(batch.num_rows()), |ticks| !&ticks),
            &keys,
            values.as_ref(),
            &time,
            rules.tied(),
            gaps.as_ref(),
            ends.as_ref(),
        );
        Ok(Self {
            rules,
            keys,
            time,
            ends,
            gaps,
            faults,
            inputs: query
                .inputs
                .iter()
                .map(|input| reader.cast(&input.source, input.field.data_type()))
                .collect::<Result<_>>()?,
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

    /// The inputs in the form that aggregates take.
    pub(crate) fn canonical_inputs(query: &Query, inputs: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        query
            .inputs
            .iter()
            .zip(inputs)
            .map(|(input, array)| input.canonical(array))
            .collect()
    }
}

/// The columns of one batch. Each is checked at most once.
struct CheckedColumns<'b> {
    batch: &'b RecordBatch,
    /// Positions of columns that passed the check.
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
