//! `bit_and(column)`, `bit_or(column)` and `bit_xor(column)`: null without values.

use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

use arrow_array::ArrayRef;

use crate::core::aggregate::argument::Value;
use crate::core::aggregate::function::{
    AggregateFunction, FunctionCall, ResolvedFunction, resolved,
};
use crate::core::aggregate::result_type::ResultType;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::state::{State, StateVec};
use crate::core::aggregate::state_columns;
use crate::core::aggregate::value_type::ValueType;
use crate::core::error::Result;

/// Integers of any width, negative ones as two's complements.
pub(crate) trait Integer:
    for<'a> Scalar<Ref<'a> = Self>
    + Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
}

impl Integer for i64 {}
impl Integer for i128 {}

/// The operation on the bits of two values.
pub(crate) trait BitOperation:
    Clone + Default + Send + Sync + std::fmt::Debug + 'static
{
    /// The bits of both.
    fn apply<V: Integer>(left: V, right: V) -> V;
}

/// The bits that every value has.
#[derive(Clone, Debug, Default)]
pub(crate) struct And;

/// The bits that any value has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Or;

/// The bits that an odd number of values has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Xor;

impl BitOperation for And {
    fn apply<V: Integer>(left: V, right: V) -> V {
        left & right
    }
}

impl BitOperation for Or {
    fn apply<V: Integer>(left: V, right: V) -> V {
        left | right
    }
}

impl BitOperation for Xor {
    fn apply<V: Integer>(left: V, right: V) -> V {
        left ^ right
    }
}

/// `bit_and`, `bit_or` or `bit_xor` of a column.
pub(crate) type Bitwise<V, O> = StateVec<BitsState<V, O>>;

/// `bit_and(column)`: the column's type.
pub(crate) static BIT_AND: AggregateFunction = AggregateFunction::new("bit_and", resolve::<And>);
/// `bit_or(column)`: the column's type.
pub(crate) static BIT_OR: AggregateFunction = AggregateFunction::new("bit_or", resolve::<Or>);
/// `bit_xor(column)`: the column's type.
pub(crate) static BIT_XOR: AggregateFunction = AggregateFunction::new("bit_xor", resolve::<Xor>);

fn resolve<O: BitOperation>(call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
    let result = ResultType::OF_COLUMN;
    match call.value_type(0)? {
        ValueType::Integer => Ok(resolved(Bitwise::<i64, O>::default(), result)),
        ValueType::UInt64 => Ok(resolved(Bitwise::<i128, O>::default(), result)),
        _ => Err(call.refused_type(0, "integers")),
    }
}

/// The bits of the values so far; none where there is no value.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitsState<V, O> {
    bits: Option<V>,
    operation: PhantomData<O>,
}

impl<V, O> BitsState<V, O> {
    fn new(bits: Option<V>) -> Self {
        Self {
            bits,
            operation: PhantomData,
        }
    }
}

fn column<'s, V: Integer, O: BitOperation>(
    states: impl Iterator<Item = &'s BitsState<V, O>>,
) -> ArrayRef {
    V::column(states.map(|state| state.bits))
}

impl<V: Integer, O: BitOperation> State for BitsState<V, O> {
    type Options = ();
    type Argument = Value<V>;

    #[inline]
    fn add(&mut self, (): &(), value: V) {
        self.bits = Some(self.bits.map_or(value, |bits| O::apply(bits, value)));
    }

    fn merge(&mut self, other: &Self) {
        if let Some(bits) = other.bits {
            self.add(&(), bits);
        }
    }

    fn lower<'s>((): &(), states: impl Iterator<Item = &'s Self> + Clone) -> Result<ArrayRef> {
        Ok(column(states))
    }

    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        vec![column(states)]
    }

    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [column] = state_columns(columns)?;
        Ok(V::values(column)?.map(Self::new).collect())
    }
}
