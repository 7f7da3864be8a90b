//! Types of results and the states that make them, by Spark's rules.

use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};

use super::spec::Function;
use crate::aggregate::Aggregate;
use crate::aggregate::mean::{Mean, MeanType};
use crate::aggregate::sum::Sum;
use crate::aggregate::variance::{Spread, Variance};

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

/// Spark: bigint, double, `decimal(p + 10, s)`, the same interval.
pub(super) fn sum(data_type: &DataType) -> Option<(Box<dyn Aggregate>, DataType)> {
    if let Some((precision, scale)) = decimal(data_type) {
        let precision = DIGITS.min(precision.saturating_add(10));
        return Some((
            Box::new(Sum::<i128>::new(limit(precision))),
            DataType::Decimal128(precision, scale),
        ));
    }
    match data_type {
        DataType::Duration(_) => Some((Box::new(Sum::<i64>::new(0)), data_type.clone())),
        data_type if data_type.is_integer() => {
            Some((Box::new(Sum::<i64>::new(0)), DataType::Int64))
        }
        data_type if data_type.is_floating() => {
            Some((Box::new(Sum::<f64>::new(0)), DataType::Float64))
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

pub(super) fn variance(function: Function, data_type: &DataType) -> Option<Box<dyn Aggregate>> {
    let spread = |scale| Spread {
        population: matches!(function, Function::StddevPop | Function::VarPop),
        root: matches!(function, Function::Stddev | Function::StddevPop),
        scale,
    };
    if let Some((_, scale)) = decimal(data_type) {
        return Some(Box::new(Variance::<i128>::new(spread(
            10_f64.powi(scale.into()),
        ))));
    }
    match data_type {
        data_type if data_type.is_integer() => Some(Box::new(Variance::<i64>::new(spread(1.0)))),
        data_type if data_type.is_floating() => Some(Box::new(Variance::<f64>::new(spread(1.0)))),
        _ => None,
    }
}
