//! Finds columns by name.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::core::error::{Error, Result};

/// The position and the field of the column with exactly this name.
pub(crate) fn find<'a>(
    input: &'a Schema,
    argument: &str,
    name: &str,
) -> Result<(usize, &'a Field)> {
    input.column_with_name(name).ok_or_else(|| Error::Argument {
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

/// The error for a batch that lacks a declared column.
pub(crate) fn missing(name: &str) -> Error {
    Error::Format {
        what: "batch",
        reason: format!("column {name:?} is missing"),
    }
}

/// Makes a batch of arrays without names. Blocks identify columns by position.
pub(crate) fn unnamed(columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(position, array)| {
            Field::new(
                position.to_string(),
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
