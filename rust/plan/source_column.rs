//! A column of the input that a query names.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::spec::{Spec, WindowSpec};
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

    /// The column of integers of this name.
    pub(crate) fn of_integers(input: &Schema, argument: &str, name: &str) -> Result<Self> {
        let allowed = "an integer";
        Self::of_type(input, argument, name, allowed, DataType::is_integer)
    }

    /// The column of each record's own gap.
    pub(crate) fn of_gaps(windows: &WindowSpec, input: &Schema) -> Result<Option<Self>> {
        let Some(name) = windows.session().and_then(|own| own.gap_column.as_ref()) else {
            return Ok(None);
        };
        let allowed = "a duration (a day-time interval)";
        let is_duration = |found: &DataType| matches!(found, DataType::Duration(_));
        Self::of_type(input, "gap", name, allowed, is_duration).map(Some)
    }

    /// The column of the ends of records, whose times are in the column `time`.
    pub(crate) fn of_ends(spec: &Spec, input: &Schema, time: &Field) -> Result<Option<Self>> {
        let Some(name) = &spec.end else {
            return Ok(None);
        };
        if let WindowSpec::Sliding { .. } = spec.windows {
            return Err(Error::Argument {
                argument: "end".into(),
                got: format!("{name:?}"),
                allowed: "none: a record of sliding windows has only a time".into(),
            });
        }
        let allowed = format!("the type of the time column, {}", type_name::of(time));
        let is_time = |found: &DataType| found == time.data_type();
        Self::of_type(input, "end", name, &allowed, is_time).map(Some)
    }

    /// The column of this name, if it has an allowed type.
    fn of_type(
        input: &Schema,
        argument: &str,
        name: &str,
        allowed: &str,
        is_allowed: impl Fn(&DataType) -> bool,
    ) -> Result<Self> {
        let (column, field) = Self::find(input, argument, name)?;
        if is_allowed(&unpacked(field.data_type())) {
            return Ok(column);
        }
        Err(Error::ColumnType {
            argument: argument.into(),
            column: name.into(),
            got: type_name::of(field),
            allowed: allowed.into(),
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
