//! What makes a row a step of a funnel.

use crate::core::aggregate::RowPosition;
use crate::core::aggregate::argument::{Argument, Flags, PositionedValue};
use crate::core::aggregate::funnel_chains::StepRow;
use crate::core::aggregate::scalar::Scalar;

/// What makes a row a step.
pub(crate) trait StepCriterion: Clone + Send + Sync + 'static {
    /// What it takes from a row.
    type Argument: Argument;

    /// The position of a row and the steps that it fits.
    fn of(&self, row: <Self::Argument as Argument>::Row<'_>) -> StepRow;
}

/// A boolean column for each step.
#[derive(Clone, Debug)]
pub(crate) struct Conditions;

impl StepCriterion for Conditions {
    type Argument = Flags;

    #[inline]
    fn of(&self, ((time, tie), steps): (RowPosition, u32)) -> StepRow {
        StepRow { time, tie, steps }
    }
}

/// A value for each step.
#[derive(Clone, Debug)]
pub(crate) struct StepValues<V>(pub Vec<V>);

impl<V: Scalar> StepCriterion for StepValues<V> {
    type Argument = PositionedValue<V>;

    #[inline]
    fn of(&self, ((time, tie), value): <Self::Argument as Argument>::Row<'_>) -> StepRow {
        let mut steps = 0;
        if let Some(value) = value {
            for (step, bit) in self.0.iter().zip(0..) {
                steps |= u32::from(V::compare(step.get(), value).is_eq()) << bit;
            }
        }
        StepRow { time, tie, steps }
    }
}
