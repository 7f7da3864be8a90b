//! A column of the input that a query names.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::array::dictionary::unpacked;
use crate::array::named::{find, missing};
use crate::array::type_name;
use crate::core::error::{Error, Result};

/// A column of the input: its name, and its position in the declared schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    name: String,
    position: usize,
}

impl SourceColumn {
    /// The column of this name in the declared schema, and its field.
    pub(crate) fn find<'s>(
        input: &'s Schema,
        argument: &str,
        name: &str,
    ) -> Result<(Self, &'s Field)> {
        let (position, field) = find(input, argument, name)?;
        let name = name.to_owned();
        Ok((Self { name, position }, field))
    }

    /// The boolean column of this name. A column of type null counts as never true.
    pub(crate) fn of_booleans(input: &Schema, argument: &str, name: &str) -> Result<Self> {
        let (column, field) = Self::find(input, argument, name)?;
        let read = match field.data_type() {
            DataType::RunEndEncoded(_, values) => values.as_ref(),
            _ => field,
        };
        let is_bool8 = read.extension_type_name() == Some("arrow.bool8");
        let stored = unpacked(read.data_type());
        if is_bool8 || matches!(stored, DataType::Boolean | DataType::Null) {
            return Ok(column);
        }
        Err(Error::ColumnType {
            argument: argument.into(),
            column: name.into(),
            got: type_name::of(field),
            allowed: "a boolean".into(),
        })
    }

    /// All columns of the declared schema.
    pub(crate) fn all(input: &Schema) -> Vec<Self> {
        let names = input.fields().iter().map(|field| field.name().clone());
        let numbered = names.enumerate();
        numbered
            .map(|(position, name)| Self { name, position })
            .collect()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position of this column in a batch. The batch may have more columns than the declared
    /// schema, in another order.
    pub(crate) fn position(&self, batch: &RecordBatch) -> Result<usize> {
        let schema = batch.schema_ref();
        let declared = schema.fields().get(self.position);
        if declared.is_some_and(|field| *field.name() == self.name) {
            return Ok(self.position);
        }
        schema.index_of(&self.name).map_err(|_| missing(&self.name))
    }

    /// The array of this column in a batch.
    pub(crate) fn array<'b>(&self, batch: &'b RecordBatch) -> Result<&'b ArrayRef> {
        batch
            .columns()
            .get(self.position(batch)?)
            .ok_or_else(|| missing(&self.name))
    }
}
