//! Types of results and the states that make them, by Spark's rules.

use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};

use super::spec::{AggregateSpec, Function, Percentage};
use crate::array::convert::{ColumnKind, kind};
use crate::core::aggregate::Aggregate;
use crate::core::aggregate::approx_percentile::{ApproxPercentile, ApproxPercentiles};
use crate::core::aggregate::bits::{And, Bitwise, Integer, Or, Xor};
use crate::core::aggregate::central_moments::{CentralMoments, Shape};
use crate::core::aggregate::covariance::{Covariance, Measure, Relation};
use crate::core::aggregate::histogram_numeric::HistogramNumeric;
use crate::core::aggregate::mean::{Mean, MeanType};
use crate::core::aggregate::percentile::{Percentile, Percentiles};
use crate::core::aggregate::product::Product;
use crate::core::aggregate::sum::Sum;
use crate::core::aggregate::sum_distinct::SumDistinct;
use crate::core::aggregate::total::Summable;
use crate::core::aggregate::variance::{Spread, Variance};

/// The largest precision of a decimal.
const DIGITS: u8 = 38;

/// A result of a column's own type, be it an extension type.
pub(super) fn of_type(name: &str, column: &Field) -> Field {
    let extension = column.metadata().iter().filter(|(key, _)| {
        [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY].contains(&key.as_str())
    });
    let extension = extension
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Field::new(name, column.data_type().clone(), true).with_metadata(extension)
}

/// A list without nulls. Of a union Arrow also counts the nulls of members that are not chosen.
pub(super) fn list_of(item: &Field) -> DataType {
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

/// Spark: bigint, double, `decimal(p + 10, s)`, the same interval; of all values or the distinct
/// ones.
pub(super) fn sum(data_type: &DataType, distinct: bool) -> Option<(Box<dyn Aggregate>, DataType)> {
    fn states<V: Summable>(limit: i128, distinct: bool) -> Box<dyn Aggregate> {
        if distinct {
            Box::new(SumDistinct::<V>::new(limit))
        } else {
            Box::new(Sum::<V>::new(limit))
        }
    }
    if let Some((precision, scale)) = decimal(data_type) {
        let precision = DIGITS.min(precision.saturating_add(10));
        return Some((
            states::<i128>(limit(precision), distinct),
            DataType::Decimal128(precision, scale),
        ));
    }
    match data_type {
        DataType::Duration(_) => Some((states::<i64>(0, distinct), data_type.clone())),
        data_type if data_type.is_integer() => Some((states::<i64>(0, distinct), DataType::Int64)),
        data_type if data_type.is_floating() => {
            Some((states::<f64>(0, distinct), DataType::Float64))
        }
        _ => None,
    }
}

/// Spark: double, `decimal(p + 4, s + 4)`, the same interval.
pub(super) fn mean(data_type: &DataType) -> Option<(Box<dyn Aggregate>, DataType)> {
    if let (Some((precision, scale)), false) = (decimal(data_type), data_type.is_integer()) {
        let (wider, finer) = (
            DIGITS.min(precision.saturating_add(4)),
            (DIGITS as i8).min(scale.saturating_add(4)),
        );
        let factor = limit(finer.saturating_sub(scale).unsigned_abs());
        return Some((
            Box::new(Mean::<i128>::new(MeanType::Rounded {
                factor,
                limit: limit(wider),
            })),
            DataType::Decimal128(wider, finer),
        ));
    }
    match data_type {
        DataType::Duration(_) => Some((
            Box::new(Mean::<i64>::new(MeanType::Rounded {
                factor: 1,
                limit: 0,
            })),
            data_type.clone(),
        )),
        DataType::UInt64 => Some((
            Box::new(Mean::<i128>::new(MeanType::Float)),
            DataType::Float64,
        )),
        data_type if data_type.is_integer() => Some((
            Box::new(Mean::<i64>::new(MeanType::Float)),
            DataType::Float64,
        )),
        data_type if data_type.is_floating() => Some((
            Box::new(Mean::<f64>::new(MeanType::Float)),
            DataType::Float64,
        )),
        _ => None,
    }
}

/// The kind of numbers, and what one unit of them is divided by: integers, floats and decimals.
pub(super) fn number(data_type: &DataType) -> Option<(ColumnKind, f64)> {
    if let Some((_, scale)) = decimal(data_type) {
        return Some((ColumnKind::Wide, 10_f64.powi(scale.into())));
    }
    match data_type {
        data_type if data_type.is_integer() => Some((ColumnKind::Int, 1.0)),
        data_type if data_type.is_floating() => Some((ColumnKind::Float, 1.0)),
        _ => None,
    }
}

/// One typed aggregate by the kind of numbers that it takes; none of other kinds.
macro_rules! dispatch_number {
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
            ColumnKind::Bytes | ColumnKind::Rows => return None,
        }
    };
}

/// Aggregates of one column of numbers whose result is a float.
pub(super) fn of_numbers(spec: &AggregateSpec, data_type: &DataType) -> Option<Box<dyn Aggregate>> {
    let (kind, scale) = number(data_type)?;
    let shares = spec.percentage.as_ref().map(Percentage::shares);
    let percentiles = Percentiles {
        shares: shares.unwrap_or_else(|| vec![0.5]),
        list: matches!(spec.percentage, Some(Percentage::Some(_))),
        scale,
    };
    let spread = Spread {
        population: matches!(spec.function, Function::StddevPop | Function::VarPop),
        root: matches!(spec.function, Function::Stddev | Function::StddevPop),
        scale,
    };
    let shape = if spec.function == Function::Skewness {
        Shape::Skewness
    } else {
        Shape::Kurtosis
    };
    Some(match spec.function {
        Function::Product => dispatch_number!(kind, |V| Box::new(Product::<V>::new(scale))),
        Function::Median | Function::Percentile => {
            dispatch_number!(kind, |V| Box::new(Percentile::<V>::new(percentiles)))
        }
        Function::Skewness | Function::Kurtosis => {
            dispatch_number!(kind, |V| Box::new(CentralMoments::<V>::new(shape)))
        }
        _ => dispatch_number!(kind, |V| Box::new(Variance::<V>::new(spread))),
    })
}

/// Percentiles of numbers cut to so many bits.
pub(super) fn approx_percentile(
    spec: &AggregateSpec,
    bits: u32,
    data_type: &DataType,
) -> Option<Box<dyn Aggregate>> {
    let (kind, _) = number(data_type)?;
    let shares = spec.percentage.as_ref().map(Percentage::shares);
    let asked = ApproxPercentiles {
        shares: shares.unwrap_or_default(),
        list: matches!(spec.percentage, Some(Percentage::Some(_))),
        bits,
    };
    Some(dispatch_number!(kind, |V| Box::new(
        ApproxPercentile::<V>::new(asked)
    )))
}

/// The most frequent values: structs of a value and how often it occurs.
pub(super) fn top_k(item: &Field) -> DataType {
    list_of_structs([
        item.clone().with_name("item").with_nullable(true),
        Field::new("count", DataType::Int64, false),
    ])
}

/// Histograms of numbers, dates, times of day, timestamps and day-time intervals: structs of a value
/// and how many are near it.
pub(super) fn histogram_numeric(
    most: usize,
    value: &Field,
) -> Option<(Box<dyn Aggregate>, DataType)> {
    let kind = match value.data_type() {
        DataType::Boolean => None,
        data_type => kind(data_type),
    };
    let states: Box<dyn Aggregate> =
        dispatch_number!(kind?, |V| Box::new(HistogramNumeric::<V>::new(most)));
    let fields = [
        value.clone().with_name("x").with_nullable(false),
        Field::new("y", DataType::Float64, false),
    ];
    Some((states, list_of_structs(fields)))
}

fn list_of_structs(fields: [Field; 2]) -> DataType {
    list_of(&Field::new_struct("item", fields.to_vec(), false))
}

/// Aggregates of two columns of numbers whose result is a float.
pub(super) fn of_pairs(
    function: Function,
    x: &DataType,
    y: &DataType,
) -> Option<Box<dyn Aggregate>> {
    let ((x, x_scale), (y, y_scale)) = (number(x)?, number(y)?);
    let measure = Measure {
        relation: match function {
            Function::CovarPop => Relation::Population,
            Function::CovarSamp => Relation::Sample,
            _ => Relation::Correlation,
        },
        scale: x_scale * y_scale,
    };
    Some(dispatch_number!(x, |X| dispatch_number!(y, |Y| {
        Box::new(Covariance::<X, Y>::new(measure))
    })))
}

/// The bits of integers.
pub(super) fn bits(function: Function, data_type: &DataType) -> Option<Box<dyn Aggregate>> {
    fn states<V: Integer>(function: Function) -> Box<dyn Aggregate> {
        match function {
            Function::BitAnd => Box::new(Bitwise::<V, And>::default()),
            Function::BitOr => Box::new(Bitwise::<V, Or>::default()),
            _ => Box::new(Bitwise::<V, Xor>::default()),
        }
    }
    match data_type {
        DataType::UInt64 => Some(states::<i128>(function)),
        data_type if data_type.is_integer() => Some(states::<i64>(function)),
        _ => None,
    }
}
