//! Which aggregate over which type, and the type of its result: Spark's rules.

use arrow_schema::{DataType, Field};

use super::result_type::{
    approx_percentile, bits, histogram_numeric, list_of, mean, of_numbers, of_pairs, of_type, sum,
    top_k,
};
use super::spec::{AggregateSpec, Function, Percentage};
use crate::array::convert::{ColumnKind, kind};
use crate::array::dictionary::unpacked_field;
use crate::array::{comparable, type_name};
use crate::core::aggregate::Aggregate;
use crate::core::aggregate::approx_count_distinct::{ApproxCountDistinct, SketchSize};
use crate::core::aggregate::collect_list::CollectList;
use crate::core::aggregate::collect_set::CollectSet;
use crate::core::aggregate::composite::Composite;
use crate::core::aggregate::count::Count;
use crate::core::aggregate::count_distinct::CountDistinct;
use crate::core::aggregate::first_last::{First, Last};
use crate::core::aggregate::float_order::OrderedFloat;
use crate::core::aggregate::min_max::MinMax;
use crate::core::aggregate::min_max_by::MinMaxBy;
use crate::core::aggregate::mode::Mode;
use crate::core::aggregate::top_k::TopK;
use crate::core::error::{Error, Result};

/// The largest number of elements that `top_k` and `histogram_numeric` take.
const MOST_ELEMENTS: u32 = 1_000_000;

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
        Function::CountDistinct => 1..=usize::MAX,
        Function::MinBy
        | Function::MaxBy
        | Function::CovarPop
        | Function::CovarSamp
        | Function::Corr => 2..=2,
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
            allowed: match (arity.start(), arity.end()) {
                (from, &usize::MAX) => format!("{from} or more columns"),
                (from, to) => format!("{from} to {to} columns"),
            },
        });
    }
    check_percentage(spec)?;
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
    let float = |states| column((states, DataType::Float64));
    let numbers = "integers, floats and decimals of up to 38 digits";
    let boolean = |states: Box<dyn Aggregate>, data_type: &DataType| match data_type {
        DataType::Boolean => Ok((states, same())),
        _ => Err(wrong("booleans", 0)),
    };
    let addable =
        "integers, floats, decimals of up to 38 digits and durations (day-time intervals)";
    let spread = "integers, floats, decimals of up to 38 digits, dates, times, timestamps and \
                  durations (day-time intervals)";
    let (states, field) = match (spec.function, inputs.as_slice(), kinds.as_slice()) {
        (Function::Count, ..) => (
            boxed(Count::default()),
            Field::new(&spec.name, DataType::Int64, false),
        ),
        (Function::Sum | Function::SumDistinct, [data_type], _) => {
            let distinct = spec.function == Function::SumDistinct;
            column(sum(data_type, distinct).ok_or_else(|| wrong(addable, 0))?)
        }
        (Function::Mean, [data_type], _) => {
            column(mean(data_type).ok_or_else(|| wrong(addable, 0))?)
        }
        (Function::Percentile | Function::Median, [data_type], _) => {
            let states = of_numbers(spec, data_type).ok_or_else(|| wrong(numbers, 0))?;
            match spec.percentage {
                Some(Percentage::Some(_)) => {
                    let item = Field::new("item", DataType::Float64, false);
                    column((states, list_of(&item)))
                }
                _ => float(states),
            }
        }
        (
            Function::Stddev
            | Function::StddevPop
            | Function::Variance
            | Function::VarPop
            | Function::Skewness
            | Function::Kurtosis
            | Function::Product,
            [data_type],
            _,
        ) => float(of_numbers(spec, data_type).ok_or_else(|| wrong(numbers, 0))?),
        (Function::CovarPop | Function::CovarSamp | Function::Corr, [x, y], _) => {
            let is_number = |data_type| super::result_type::number(data_type).is_some();
            let first = usize::from(is_number(x));
            float(of_pairs(spec.function, x, y).ok_or_else(|| wrong(numbers, first))?)
        }
        (Function::BoolAnd, [data_type], _) => {
            boolean(boxed(MinMax::<i64, false>::default()), data_type)?
        }
        (Function::BoolOr, [data_type], _) => {
            boolean(boxed(MinMax::<i64, true>::default()), data_type)?
        }
        (Function::BitAnd | Function::BitOr | Function::BitXor, [data_type], _) => (
            bits(spec.function, data_type).ok_or_else(|| wrong("integers", 0))?,
            same(),
        ),
        (Function::CountDistinct, _, kinds) => {
            let states = match kinds {
                [kind] => dispatch_kind!(*kind, |V| boxed(CountDistinct::<V>::default())),
                _ => boxed(Composite::new(CountDistinct::<Box<[u8]>>::default())),
            };
            (states, Field::new(&spec.name, DataType::Int64, false))
        }
        (Function::ApproxCountDistinct, _, [kind]) => {
            let size = SketchSize::new(accuracy(spec)?)?;
            let states = dispatch_kind!(*kind, |V| boxed(ApproxCountDistinct::<V>::new(size)));
            (states, Field::new(&spec.name, DataType::Int64, false))
        }
        (Function::ApproxPercentile, [data_type], _) => {
            let bits = accuracy(spec)?.log2().ceil() as u32 + 1;
            let states =
                approx_percentile(spec, bits, data_type).ok_or_else(|| wrong(numbers, 0))?;
            let field = match spec.percentage {
                Some(Percentage::Some(_)) => Field::new(&spec.name, list_of(&same()), true),
                _ => same(),
            };
            (states, field)
        }
        (Function::Mode, _, [kind]) => (
            dispatch_kind!(kind, |V| boxed(Mode::<V>::default())),
            same(),
        ),
        (Function::TopK, _, [kind]) => {
            let k = most(spec, 1)?;
            let states = dispatch_kind!(kind, |V| boxed(TopK::<V>::new(k)));
            (states, Field::new(&spec.name, top_k(&same()), false))
        }
        (Function::HistogramNumeric, ..) => {
            column(histogram_numeric(most(spec, 2)?, &same()).ok_or_else(|| wrong(spread, 0))?)
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
            dispatch_kind!(kind, |V| boxed(CollectList::<V>::new(spec.keep_nulls))),
            if spec.keep_nulls {
                let item = same().with_name("item").with_nullable(true);
                Field::new(&spec.name, DataType::List(item.into()), false)
            } else {
                list()
            },
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
    let mut compared = columns.iter().enumerate();
    let refused = compared.find_map(|(position, field)| {
        let compares = spec.function.compares(position);
        let allowed = compares.then(|| comparable::refused(field, spec.function.ranks()))?;
        Some((position, allowed?))
    });
    if let Some((position, allowed)) = refused {
        return Err(wrong(allowed, position));
    }
    Ok(ResolvedAggregate { states, field })
}

/// Checks that a percentile is asked for by shares from 0 to 1, and nothing else is.
fn check_percentage(spec: &AggregateSpec) -> Result<()> {
    let shares = spec.percentage.as_ref().map(Percentage::shares);
    let takes = [Function::Percentile, Function::ApproxPercentile].contains(&spec.function);
    let allowed = match (&shares, takes) {
        (Some(shares), true) if shares.is_empty() => "one number at least",
        (Some(shares), true) if !shares.iter().all(|share| (0.0..=1.0).contains(share)) => {
            "numbers from 0 to 1"
        }
        (Some(_), true) | (None, false) => return Ok(()),
        (None, true) => "a number from 0 to 1, or several",
        (Some(_), false) => "none: only percentiles take it",
    };
    Err(Error::Argument {
        argument: format!("aggregate {:?}: percentage", spec.name),
        got: shares.map_or("none".into(), |shares| format!("{shares:?}")),
        allowed: allowed.into(),
    })
}

/// How exact an approximate aggregate is, within its bounds.
fn accuracy(spec: &AggregateSpec) -> Result<f64> {
    let (default, least, most) = match spec.function {
        Function::ApproxPercentile => (10_000.0, 1.0, 1_000_000.0),
        _ => (0.05, 0.005, 0.25),
    };
    let asked = spec.accuracy.as_ref();
    let accuracy = asked
        .and_then(serde_json::Number::as_f64)
        .unwrap_or(default);
    if (least..=most).contains(&accuracy) {
        return Ok(accuracy);
    }
    Err(Error::Argument {
        argument: format!("aggregate {:?}: accuracy", spec.name),
        got: accuracy.to_string(),
        allowed: format!("{least} to {most}"),
    })
}

/// How many elements a list has at most.
fn most(spec: &AggregateSpec, least: u32) -> Result<usize> {
    match spec.most {
        Some(most) if (least..=MOST_ELEMENTS).contains(&most) => Ok(most as usize),
        most => Err(Error::Argument {
            argument: format!("aggregate {:?}: most", spec.name),
            got: most.map_or("none".into(), |most| most.to_string()),
            allowed: format!("{least} to {MOST_ELEMENTS}"),
        }),
    }
}

/// The name that a user calls.
fn function_name(function: Function) -> String {
    serde_json::to_value(function)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}
