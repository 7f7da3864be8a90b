//! The columns that a query reads from a batch: finds them, checks them, and casts them to their
//! declared types. Batch queries and the record operator share this code.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::end_column::EndColumn;
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
    /// Which rows are ticks.
    pub ticks: Option<BooleanArray>,
    /// The gap of each row.
    pub gaps: Option<GapColumn>,
    /// Where rules end sessions, and the order of rows of one time.
    pub rules: RuleColumns,
    /// The columns that aggregates read, in their declared types.
    pub inputs: Vec<ArrayRef>,
    /// Which rows have a record value, if the query treats nulls as Kafka does.
    pub values: Option<NullBuffer>,
    /// The number of each row's source partition, if sources have names.
    pub source_numbers: Option<Int64Array>,
    /// All output columns, if the query returns rows.
    pub output: Vec<ArrayRef>,
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
        let ends = booleans(&columns.rules.ends)?;
        let values = columns.rules.cut_on.iter();
        let values = values.map(|(column, _)| reader.checked(column));
        let rules = RuleColumns::read(
            query,
            ties.transpose()?
                .map(|ties| ties.as_primitive::<Int64Type>().clone()),
            (begins, ends),
            &values.collect::<Result<Vec<_>>>()?,
            batch.num_rows(),
        )?;
        Ok(Self {
            rules,
            keys: columns
                .keys
                .iter()
                .map(|key| reader.checked(key))
                .collect::<Result<_>>()?,
            time: ticks(&reader.cast(&columns.time, query.time.data_type())?)?,
            ends: columns
                .end
                .as_ref()
                .map(|end| ticks(&reader.cast(end, query.time.data_type())?).map(EndColumn))
                .transpose()?,
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

/// Times in ticks, with their nulls.
fn ticks(times: &ArrayRef) -> Result<Int64Array> {
    let times = convert::canonical(times)?;
    Ok(times.as_primitive::<Int64Type>().clone())
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
