//! Columns by their names.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

use super::validate;
use crate::error::{Error, Result};

/// The field of a column by its exact name.
pub(crate) fn find<'a>(input: &'a Schema, argument: &str, name: &str) -> Result<&'a Field> {
    input.field_with_name(name).map_err(|_| Error::Argument {
        argument: argument.into(),
        got: format!("column {name:?}"),
        allowed: format!(
            "one of {:?}",
            input
                .fields()
                .iter()
                .map(|field| field.name())
                .collect::<Vec<_>>()
        ),
    })
}

/// A column by its exact name; it holds what its type says.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let missing = || Error::Format {
        what: "batch",
        reason: format!("column {name:?} is missing"),
    };
    let array = batch.column_by_name(name).ok_or_else(missing)?;
    validate::check(name, array)?;
    Ok(Arc::clone(array))
}

/// Arrays as a batch; the columns of a block are known by their place.
pub(crate) fn unnamed(columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(place, array)| {
            Field::new(
                place.to_string(),
                array.data_type().clone(),
                array.is_nullable(),
            )
        })
        .collect();
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns,
    )?)
}
