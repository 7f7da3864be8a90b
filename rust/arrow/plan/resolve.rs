//! Which aggregate over which type, and the type of its result: Spark's rules.

use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};

use super::spec::{AggregateSpec, Function};
use crate::aggregate::Aggregate;
use crate::aggregate::collect_list::CollectList;
use crate::aggregate::collect_set::CollectSet;
use crate::aggregate::count::Count;
use crate::aggregate::first_last::{First, Last};
use crate::aggregate::float_order::OrderedFloat;
use crate::aggregate::mean::{Mean, MeanType};
use crate::aggregate::min_max::MinMax;
use crate::aggregate::min_max_by::MinMaxBy;
use crate::aggregate::sum::Sum;
use crate::aggregate::variance::{Spread, Variance};
use crate::arrow::array::convert::{ColumnKind, kind};
use crate::arrow::array::dictionary::unpacked_field;
use crate::arrow::array::{comparable, type_name};
use crate::error::{Error, Result};

/// The largest precision of a decimal.
const DIGITS: u8 = 38;

/// An aggregate's empty states and the field of its result.
pub struct Resolved {
    /// A vector of states without slots.
    pub states: Box<dyn Aggregate>,
    /// The result's name and type.
    pub field: Field,
}

/// One typed aggregate by the kind of its input: `by_kind!(kind, |V| boxed(Min::<V>::default()))`.
macro_rules! by_kind {
    ($kind:expr, |$value:ident| $states:expr) => {
        match $kind {
            ColumnKind::Int => {
                type $value = i64;
                $states
            }
            ColumnKind::Float => {
                type $value = f64;
                $states
            }
            ColumnKind::Wide => {
                type $value = i128;
                $states
            }
            ColumnKind::Bytes | ColumnKind::Rows => {
                type $value = Box<[u8]>;
                $states
            }
        }
    };
}

fn boxed(states: impl Aggregate) -> Box<dyn Aggregate> {
    Box::new(states)
}

fn extreme<const MAX: bool>(kind: ColumnKind) -> Box<dyn Aggregate> {
    match kind {
        ColumnKind::Float => boxed(MinMax::<OrderedFloat, MAX>::default()),
        kind => by_kind!(kind, |V| boxed(MinMax::<V, MAX>::default())),
    }
}

/// Resolves an aggregate over these columns.
pub fn resolve(named: &AggregateSpec, columns: &[Field]) -> Result<Resolved> {
    let wrong = |allowed: &str, column: usize| Error::ColumnType {
        argument: format!(
            "aggregate {:?}: {}",
            named.name,
            function_name(named.function)
        ),
        column: named.columns.get(column).cloned().unwrap_or_default(),
        got: columns.get(column).map(type_name::of).unwrap_or_default(),
        allowed: allowed.into(),
    };
    let values: Vec<Field> = columns.iter().map(unpacked_field).collect();
    let inputs: Vec<&DataType> = values.iter().map(Field::data_type).collect();
    let arity = match named.function {
        Function::Count => 0..=1,
        Function::MinBy | Function::MaxBy => 2..=2,
        Function::Python => {
            return Err(Error::Argument {
                argument: format!("aggregate {:?}", named.name),
                got: "a Python function".into(),
                allowed: "built-in aggregates: Python functions are called record by record".into(),
            });
        }
        _ => 1..=1,
    };
    if !arity.contains(&inputs.len()) {
        return Err(Error::Argument {
            argument: format!("aggregate {:?}: columns", named.name),
            got: inputs.len().to_string(),
            allowed: format!("{} to {} columns", arity.start(), arity.end()),
        });
    }
    let kinds = inputs.iter().enumerate().map(|(column, data_type)| {
        kind(data_type).ok_or_else(|| wrong("types that Arrow's row format takes", column))
    });
    let kinds: Vec<ColumnKind> = if named.function == Function::Count {
        Vec::new()
    } else {
        kinds.collect::<Result<_>>()?
    };
    let column = |(states, data_type): (Box<dyn Aggregate>, DataType)| {
        (states, Field::new(&named.name, data_type, true))
    };
    let same = || {
        values
            .first()
            .map(|field| of_type(&named.name, field))
            .unwrap_or_else(|| Field::new(&named.name, DataType::Null, true))
    };
    let list = || Field::new(&named.name, list_of(&same()), false);
    let addable =
        "integers, floats, decimals of up to 38 digits and durations (day-time intervals)";
    let (states, field) = match (named.function, inputs.as_slice(), kinds.as_slice()) {
        (Function::Count, ..) => (
            boxed(Count::default()),
            Field::new(&named.name, DataType::Int64, false),
        ),
        (Function::Sum, [data_type], _) => column(sum(data_type).ok_or_else(|| wrong(addable, 0))?),
        (Function::Mean, [data_type], _) => {
            column(mean(data_type).ok_or_else(|| wrong(addable, 0))?)
        }
        (
            Function::Stddev | Function::StddevPop | Function::Variance | Function::VarPop,
            [data_type],
            _,
        ) => {
            let allowed = "integers, floats and decimals of up to 38 digits";
            column((
                variance(named.function, data_type).ok_or_else(|| wrong(allowed, 0))?,
                DataType::Float64,
            ))
        }
        (Function::Min, _, [kind]) => (extreme::<false>(*kind), same()),
        (Function::Max, _, [kind]) => (extreme::<true>(*kind), same()),
        (Function::First | Function::AnyValue, _, [kind]) => (
            by_kind!(kind, |V| boxed(First::<V>::new(named.ignore_nulls))),
            same(),
        ),
        (Function::Last, _, [kind]) => (
            by_kind!(kind, |V| boxed(Last::<V>::new(named.ignore_nulls))),
            same(),
        ),
        (Function::CollectList, _, [kind]) => (
            by_kind!(kind, |V| boxed(CollectList::<V>::default())),
            list(),
        ),
        (Function::CollectSet, _, [kind]) => (
            by_kind!(kind, |V| boxed(CollectSet::<V>::default())),
            list(),
        ),
        (Function::MinBy, _, [value, by]) => (
            by_kind!(value, |V| by_kind!(by, |B| boxed(
                MinMaxBy::<V, B, false>::default()
            ))),
            same(),
        ),
        (Function::MaxBy, _, [value, by]) => (
            by_kind!(value, |V| by_kind!(by, |B| boxed(
                MinMaxBy::<V, B, true>::default()
            ))),
            same(),
        ),
        _ => {
            return Err(Error::Internal(
                "the number of an aggregate's columns was checked",
            ));
        }
    };
    let compared = named
        .function
        .compared()
        .and_then(|place| Some((place, columns.get(place)?)));
    if let Some((place, allowed)) = compared.and_then(|(place, field)| {
        Some((place, comparable::refused(field, named.function.ranks())?))
    }) {
        return Err(wrong(allowed, place));
    }
    Ok(Resolved { states, field })
}

/// A result of a column's own type, be it an extension type.
fn of_type(name: &str, column: &Field) -> Field {
    let extension = column.metadata().iter().filter(|(key, _)| {
        [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY].contains(&key.as_str())
    });
    let extension = extension
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Field::new(name, column.data_type().clone(), true).with_metadata(extension)
}

/// A list without nulls. Of a union Arrow also counts the nulls of members that are not chosen.
fn list_of(item: &Field) -> DataType {
    let nullable = matches!(item.data_type(), DataType::Union(..));
    DataType::List(Arc::new(
        item.clone().with_name("item").with_nullable(nullable),
    ))
}

/// Precision and scale of a decimal; a 64-bit unsigned integer counts as `decimal(20, 0)`, as Spark
/// reads it.
fn decimal(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::UInt64 => Some((20, 0)),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}

/// What a decimal of this precision stays below.
fn limit(precision: u8) -> i128 {
    10_i128.saturating_pow(precision.into())
}

/// Spark: bigint, double, `decimal(p + 10, s)`, the same interval.
fn sum(data_type: &DataType) -> Option<(Box<dyn Aggregate>, DataType)> {
    if let Some((precision, scale)) = decimal(data_type) {
        let precision = DIGITS.min(precision.saturating_add(10));
        return Some((
            boxed(Sum::<i128>::new(limit(precision))),
            DataType::Decimal128(precision, scale),
        ));
    }
    match data_type {
        DataType::Duration(_) => Some((boxed(Sum::<i64>::new(0)), data_type.clone())),
        data_type if data_type.is_integer() => Some((boxed(Sum::<i64>::new(0)), DataType::Int64)),
        data_type if data_type.is_floating() => {
            Some((boxed(Sum::<f64>::new(0)), DataType::Float64))
        }
        _ => None,
    }
}

/// Spark: double, `decimal(p + 4, s + 4)`, the same interval.
fn mean(data_type: &DataType) -> Option<(Box<dyn Aggregate>, DataType)> {
    if let (Some((precision, scale)), false) = (decimal(data_type), data_type.is_integer()) {
        let (wider, finer) = (
            DIGITS.min(precision.saturating_add(4)),
            (DIGITS as i8).min(scale.saturating_add(4)),
        );
        let factor = limit(finer.saturating_sub(scale).unsigned_abs());
        return Some((
            boxed(Mean::<i128>::new(MeanType::Rounded {
                factor,
                limit: limit(wider),
            })),
            DataType::Decimal128(wider, finer),
        ));
    }
    match data_type {
        DataType::Duration(_) => Some((
            boxed(Mean::<i64>::new(MeanType::Rounded {
                factor: 1,
                limit: 0,
            })),
            data_type.clone(),
        )),
        DataType::UInt64 => Some((boxed(Mean::<i128>::new(MeanType::Float)), DataType::Float64)),
        data_type if data_type.is_integer() => {
            Some((boxed(Mean::<i64>::new(MeanType::Float)), DataType::Float64))
        }
        data_type if data_type.is_floating() => {
            Some((boxed(Mean::<f64>::new(MeanType::Float)), DataType::Float64))
        }
        _ => None,
    }
}

fn variance(function: Function, data_type: &DataType) -> Option<Box<dyn Aggregate>> {
    let spread = |scale| Spread {
        population: matches!(function, Function::StddevPop | Function::VarPop),
        root: matches!(function, Function::Stddev | Function::StddevPop),
        scale,
    };
    if let Some((_, scale)) = decimal(data_type) {
        return Some(boxed(Variance::<i128>::new(spread(
            10_f64.powi(scale.into()),
        ))));
    }
    match data_type {
        data_type if data_type.is_integer() => Some(boxed(Variance::<i64>::new(spread(1.0)))),
        data_type if data_type.is_floating() => Some(boxed(Variance::<f64>::new(spread(1.0)))),
        _ => None,
    }
}

/// The name that a user calls.
fn function_name(function: Function) -> String {
    serde_json::to_value(function)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}
