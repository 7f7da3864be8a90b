//! A call of an aggregate function over Arrow columns: the states, and the field of the results.

use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, TimeUnit, UnionMode};

use super::spec::AggregateSpec;
use super::window_lengths::{exact_or_zero, to_ticks};
use crate::array::convert::value_type;
use crate::array::dictionary::{unpacked, unpacked_field};
use crate::array::nested::has;
use crate::array::{comparable, type_name};
use crate::core::aggregate::Aggregate;
use crate::core::aggregate::function::{AggregateFunction, CallColumn, FunctionCall};
use crate::core::aggregate::result_type::{ResultShape, ResultType};
use crate::core::error::Result;

/// The empty states of a function over these columns, and the field of its results. Lengths have ticks of
/// `lengths`, and times the type `time`.
pub(super) fn resolve(
    function: &AggregateFunction,
    spec: &AggregateSpec,
    columns: &[Field],
    lengths: TimeUnit,
    time: &DataType,
) -> Result<(Box<dyn Aggregate>, Field)> {
    let column = |(name, field): (_, &Field)| CallColumn {
        name,
        value_type: value_type(&unpacked(field.data_type())),
        type_name: type_name::of(field),
    };
    let mut options = spec.options();
    if let Some(funnel) = &mut options.funnel {
        let ticks =
            |micros| to_ticks(micros, lengths).map_or(i64::MAX, |ticks| ticks.0.cast_signed());
        funnel.within = funnel.within.map(ticks);
    }
    let argument = format!("aggregate {:?}: limit", spec.name);
    let limit = |micros| exact_or_zero(&argument, micros, lengths);
    options.limit = spec.limit.map(limit).transpose()?;
    let call = FunctionCall {
        function: function.name,
        result: &spec.name,
        columns: spec
            .columns
            .iter()
            .map(String::as_str)
            .zip(columns)
            .map(column)
            .collect(),
        options,
    };
    let resolved = function.resolve(&call)?;
    if let Some(position) = columns
        .iter()
        .position(|field| has(field.data_type(), &has_large_codes))
    {
        return Err(call.refused_type(position, LARGE_CODES));
    }
    let compared = columns
        .iter()
        .enumerate()
        .filter(|(position, _)| function.compares.contains(position));
    for (position, field) in compared {
        if let Some(allowed) = comparable::refused(field, function.ranks) {
            return Err(call.refused_type(position, allowed));
        }
    }
    let first = columns.first().map(unpacked_field);
    let first = first.unwrap_or_else(|| Field::new(&spec.name, DataType::Null, true));
    let field = result_field(&spec.name, &resolved.result, &first, time);
    Ok((resolved.states, field))
}

/// What is allowed in place of a union whose codes are larger than the places of its members.
const LARGE_CODES: &str = "dense unions with the codes 0, 1, … of their members, or sparse ones";

/// Whether it is a dense union that `arrow-row` writes but does not read back.
fn has_large_codes(data_type: &DataType) -> bool {
    let DataType::Union(members, UnionMode::Dense) = data_type else {
        return false;
    };
    members
        .iter()
        .any(|(code, _)| usize::try_from(code).is_ok_and(|code| code >= members.len()))
}

/// The field of a result of this type; `first` is the first column that the function takes, `time` the type
/// of the time column.
fn result_field(name: &str, result: &ResultType, first: &Field, time: &DataType) -> Field {
    let of = |name: &str, result: &ResultType| result_field(name, result, first, time);
    let data_type = match &result.shape {
        ResultShape::OfColumn => return like(first, name, result.nullable),
        ResultShape::Int64 => DataType::Int64,
        ResultShape::Float64 => DataType::Float64,
        ResultShape::Time => time.clone(),
        ResultShape::Duration => match time {
            DataType::Timestamp(unit, _) => DataType::Duration(*unit),
            other => other.clone(),
        },
        &ResultShape::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
        ResultShape::List(item) => DataType::List(Arc::new(of("item", item))),
        ResultShape::Struct(fields) => DataType::Struct(
            fields
                .iter()
                .map(|(name, result)| of(name, result))
                .collect(),
        ),
    };
    Field::new(name, data_type, result.nullable)
}

/// A field of the type of a column, be it an extension type. Arrow also counts the nulls of members
/// of a union that are not chosen, so a union may always be null, and so may runs of unions.
fn like(column: &Field, name: &str, nullable: bool) -> Field {
    let is_extension = |(key, _): &(&String, _)| {
        [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY].contains(&key.as_str())
    };
    let extension = column.metadata().iter().filter(is_extension);
    let metadata = extension
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let values = match column.data_type() {
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    };
    let nullable = nullable || matches!(values, DataType::Union(..));
    Field::new(name, column.data_type().clone(), nullable).with_metadata(metadata)
}
