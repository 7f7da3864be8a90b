//! The inputs of a cogroup, and which of them each row belongs to.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, Schema};

use super::input_column::InputColumn;
use super::source_column::SourceColumn;
use super::spec::{AggregateSpec, CogroupSpec, MOST_INPUTS, wrong_count};
use crate::array::dictionary::unpacked;
use crate::array::type_name;
use crate::core::error::{Error, Result};

/// The column of the inputs' numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cogroup {
    /// Its position among the query's inputs.
    pub position: usize,
    /// Whether all inputs share one stream time.
    pub one_time: bool,
    column: String,
    count: u32,
}

impl Cogroup {
    /// Resolves the inputs of a spec; the column is added to the columns of the query.
    pub(crate) fn new(
        spec: &CogroupSpec,
        schema: &Schema,
        inputs: &mut Vec<InputColumn>,
    ) -> Result<Self> {
        let (source, field) = SourceColumn::find(schema, "inputs", &spec.column)?;
        let data_type = unpacked(field.data_type());
        if !data_type.is_integer() || data_type == DataType::UInt64 {
            return Err(Error::ColumnType {
                argument: "inputs".into(),
                column: spec.column.clone(),
                got: type_name::of(field),
                allowed: "an integer type other than uint64".into(),
            });
        }
        if !(1..=MOST_INPUTS).contains(&spec.count) {
            return Err(wrong_count("inputs: count", spec.count, MOST_INPUTS));
        }
        let column = InputColumn {
            source,
            field: field.clone(),
            canonical_floats: false,
        };
        Ok(Self {
            position: column.position_in(inputs),
            one_time: spec.one_time,
            column: spec.column.clone(),
            count: spec.count,
        })
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> usize {
        self.count as usize
    }

    /// Checks that the query has the input of an aggregate.
    pub(crate) fn check_aggregate(cogroup: Option<&Self>, spec: &AggregateSpec) -> Result<()> {
        let count = cogroup.map_or(0, |cogroup| cogroup.count);
        match spec.input {
            Some(input) if input >= count => Err(Error::Argument {
                argument: format!("aggregate {:?}: input", spec.name),
                got: input.to_string(),
                allowed: format!("a number below {count}, the number of inputs"),
            }),
            _ => Ok(()),
        }
    }

    /// The numbers, among the canonical arrays of the query's inputs.
    pub(crate) fn numbers<'a>(&self, inputs: &'a [ArrayRef]) -> Result<&'a Int64Array> {
        let numbers = inputs
            .get(self.position)
            .and_then(|array| array.as_primitive_opt::<Int64Type>());
        numbers.ok_or(Error::Internal("the numbers of inputs are not integers"))
    }

    /// Checks that every row belongs to an input.
    pub(crate) fn check_rows(&self, inputs: &[ArrayRef]) -> Result<()> {
        let numbers = self.numbers(inputs)?;
        (0..numbers.len()).try_for_each(|row| self.number(numbers, row).map(drop))
    }

    /// The input of a row.
    pub(crate) fn number(&self, numbers: &Int64Array, row: usize) -> Result<usize> {
        let number = (row < numbers.len() && numbers.is_valid(row)).then(|| numbers.value(row));
        let known = number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|&number| number < self.count);
        known
            .map(|number| number as usize)
            .ok_or_else(|| Error::Record {
                column: self.column.clone(),
                reason: format!(
                    "row {row} is of input {}; allowed: 0 to {}",
                    number.map_or("null".into(), |number| number.to_string()),
                    self.count - 1
                ),
            })
    }
}
