//! Which input of a cogroup each row is of.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, Schema};

use super::input_column::InputColumn;
use super::spec::{AggregateSpec, CogroupSpec};
use crate::arrow::array::dictionary::unpacked;
use crate::arrow::array::named::find;
use crate::arrow::array::type_name;
use crate::error::{Error, Result};

/// The column of the inputs' numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cogroup {
    /// Which of a query's inputs it is.
    pub position: usize,
    /// Whether all inputs share one stream time.
    pub one_time: bool,
    column: String,
    count: u32,
}

impl Cogroup {
    /// Resolves the inputs of a spec; the column joins those that the query takes.
    pub(crate) fn new(
        asked: &CogroupSpec,
        schema: &Schema,
        taken: &mut Vec<InputColumn>,
    ) -> Result<Self> {
        let field = find(schema, "inputs", &asked.column)?.clone();
        let data_type = unpacked(field.data_type());
        if !data_type.is_integer() || data_type == DataType::UInt64 {
            return Err(Error::ColumnType {
                argument: "inputs".into(),
                column: asked.column.clone(),
                got: type_name::of(&field),
                allowed: "an integer, not of 64 bits without a sign".into(),
            });
        }
        if asked.count == 0 {
            return Err(Error::Argument {
                argument: "inputs".into(),
                got: "0".into(),
                allowed: "one or more".into(),
            });
        }
        let position = InputColumn {
            field,
            canonical_floats: false,
        }
        .place(taken);
        Ok(Self {
            position,
            one_time: asked.one_time,
            column: asked.column.clone(),
            count: asked.count,
        })
    }

    /// The input of an aggregate is one of those of the query.
    pub(crate) fn check_aggregate(of_query: Option<&Self>, named: &AggregateSpec) -> Result<()> {
        let count = of_query.map_or(0, |origin| origin.count);
        match named.input {
            Some(input) if input >= count => Err(Error::Argument {
                argument: format!("aggregate {:?}: input", named.name),
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
        numbers.ok_or(Error::Internal("the numbers of inputs are integers"))
    }

    /// All rows are of an input.
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
