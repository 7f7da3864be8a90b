//! Makes NaN and zero unique among floats, as Spark groups them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;

use crate::core::error::Result;

/// Whether the type is a float or contains floats.
pub(crate) fn within(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| within(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            within(field.data_type())
        }
        other => other.is_floating(),
    }
}

/// Replaces every NaN with the canonical NaN and -0.0 with 0.0, at any depth.
pub(crate) fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Float16 => Ok(map::<Float16Type>(array, |value| match f32::from(value) {
            float if float.is_nan() => <Float16Type as ArrowPrimitiveType>::Native::NAN,
            0.0 => Default::default(),
            _ => value,
        })),
        DataType::Float32 => Ok(map::<Float32Type>(array, |value| {
            if value.is_nan() {
                f32::NAN
            } else {
                value + 0.0
            }
        })),
        DataType::Float64 => Ok(map::<Float64Type>(array, |value| {
            if value.is_nan() {
                f64::NAN
            } else {
                value + 0.0
            }
        })),
        nested if within(nested) => {
            let data = array.to_data();
            let children = data
                .child_data()
                .iter()
                .map(|child| Ok(canonical(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<Vec<_>>>()?;
            Ok(make_array(
                data.into_builder().child_data(children).build()?,
            ))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn map<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    value: impl Fn(T::Native) -> T::Native,
) -> ArrayRef {
    Arc::new(array.as_primitive::<T>().unary::<_, T>(value))
}
