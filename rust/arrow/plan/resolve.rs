//! Which aggregate over which type, and the type of its result: Spark's rules.

use arrow_schema::{DataType, Field};

use super::result_type::{list_of, mean, of_type, sum, variance};
use super::spec::{AggregateSpec, Function};
use crate::aggregate::Aggregate;
use crate::aggregate::collect_list::CollectList;
use crate::aggregate::collect_set::CollectSet;
use crate::aggregate::count::Count;
use crate::aggregate::first_last::{First, Last};
use crate::aggregate::float_order::OrderedFloat;
use crate::aggregate::min_max::MinMax;
use crate::aggregate::min_max_by::MinMaxBy;
use crate::arrow::array::convert::{ColumnKind, kind};
use crate::arrow::array::dictionary::unpacked_field;
use crate::arrow::array::{comparable, type_name};
use crate::error::{Error, Result};

/// An aggregate's empty states and the field of its result.
pub struct ResolvedAggregate {
    /// A vector of states without slots.
    pub states: Box<dyn Aggregate>,
    /// The result's name and type.
    pub field: Field,
}

/// One typed aggregate by the kind of its input: `dispatch_kind!(kind, |V| boxed(Min::<V>::default()))`.
macro_rules! dispatch_kind {
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
        kind => dispatch_kind!(kind, |V| boxed(MinMax::<V, MAX>::default())),
    }
}

/// Resolves an aggregate over these columns.
///
/// # Errors
///
/// The aggregate takes another number of columns, or is not defined for their types.
pub fn resolve(spec: &AggregateSpec, columns: &[Field]) -> Result<ResolvedAggregate> {
    let wrong = |allowed: &str, column: usize| Error::ColumnType {
        argument: format!(
            "aggregate {:?}: {}",
            spec.name,
            function_name(spec.function)
        ),
        column: spec.columns.get(column).cloned().unwrap_or_default(),
        got: columns.get(column).map(type_name::of).unwrap_or_default(),
        allowed: allowed.into(),
    };
    let values: Vec<Field> = columns.iter().map(unpacked_field).collect();
    let inputs: Vec<&DataType> = values.iter().map(Field::data_type).collect();
    let arity = match spec.function {
        Function::Count => 0..=1,
        Function::MinBy | Function::MaxBy => 2..=2,
        Function::Python => {
            return Err(Error::Argument {
                argument: format!("aggregate {:?}", spec.name),
                got: "a Python function".into(),
                allowed: "built-in aggregates: Python functions are called record by record".into(),
            });
        }
        Function::WindowId => return Err(Error::Internal("an id takes no states")),
        _ => 1..=1,
    };
    if !arity.contains(&inputs.len()) {
        return Err(Error::Argument {
            argument: format!("aggregate {:?}: columns", spec.name),
            got: inputs.len().to_string(),
            allowed: format!("{} to {} columns", arity.start(), arity.end()),
        });
    }
    let kinds = inputs.iter().enumerate().map(|(column, data_type)| {
        kind(data_type).ok_or_else(|| wrong("types that Arrow's row format takes", column))
    });
    let kinds: Vec<ColumnKind> = if spec.function == Function::Count {
        Vec::new()
    } else {
        kinds.collect::<Result<_>>()?
    };
    let column = |(states, data_type): (Box<dyn Aggregate>, DataType)| {
        (states, Field::new(&spec.name, data_type, true))
    };
    let same = || {
        values
            .first()
            .map(|field| of_type(&spec.name, field))
            .unwrap_or_else(|| Field::new(&spec.name, DataType::Null, true))
    };
    let list = || Field::new(&spec.name, list_of(&same()), false);
    let addable =
        "integers, floats, decimals of up to 38 digits and durations (day-time intervals)";
    let (states, field) = match (spec.function, inputs.as_slice(), kinds.as_slice()) {
        (Function::Count, ..) => (
            boxed(Count::default()),
            Field::new(&spec.name, DataType::Int64, false),
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
                variance(spec.function, data_type).ok_or_else(|| wrong(allowed, 0))?,
                DataType::Float64,
            ))
        }
        (Function::Min, _, [kind]) => (extreme::<false>(*kind), same()),
        (Function::Max, _, [kind]) => (extreme::<true>(*kind), same()),
        (Function::First | Function::AnyValue, _, [kind]) => (
            dispatch_kind!(kind, |V| boxed(First::<V>::new(spec.ignore_nulls))),
            same(),
        ),
        (Function::Last, _, [kind]) => (
            dispatch_kind!(kind, |V| boxed(Last::<V>::new(spec.ignore_nulls))),
            same(),
        ),
        (Function::CollectList, _, [kind]) => (
            dispatch_kind!(kind, |V| boxed(CollectList::<V>::default())),
            list(),
        ),
        (Function::CollectSet, _, [kind]) => (
            dispatch_kind!(kind, |V| boxed(CollectSet::<V>::default())),
            list(),
        ),
        (Function::MinBy, _, [value, by]) => (
            dispatch_kind!(value, |V| dispatch_kind!(by, |B| boxed(MinMaxBy::<
                V,
                B,
                false,
            >::default(
            )))),
            same(),
        ),
        (Function::MaxBy, _, [value, by]) => (
            dispatch_kind!(value, |V| dispatch_kind!(by, |B| boxed(MinMaxBy::<
                V,
                B,
                true,
            >::default(
            )))),
            same(),
        ),
        _ => {
            return Err(Error::Internal(
                "the number of an aggregate's columns was checked",
            ));
        }
    };
    let compared = spec
        .function
        .compared()
        .and_then(|position| Some((position, columns.get(position)?)));
    if let Some((position, allowed)) = compared.and_then(|(position, field)| {
        Some((position, comparable::refused(field, spec.function.ranks())?))
    }) {
        return Err(wrong(allowed, position));
    }
    Ok(ResolvedAggregate { states, field })
}

/// The name that a user calls.
fn function_name(function: Function) -> String {
    serde_json::to_value(function)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}
