//! A column that aggregates take.

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::source_column::SourceColumn;
use crate::array::{canonical_float, convert};
use crate::core::error::Result;

/// A column that aggregates take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputColumn {
    /// The column in the input.
    pub source: SourceColumn,
    /// Its declared name and type.
    pub field: Field,
    /// Whether floats inside its values are first replaced by ones with a single NaN and a single zero,
    /// because row bytes are compared.
    pub canonical_floats: bool,
}

impl InputColumn {
    /// The column's array as aggregates take it.
    pub(crate) fn canonical(&self, array: &ArrayRef) -> Result<ArrayRef> {
        if self.canonical_floats {
            convert::canonical(&canonical_float::canonical(&convert::unpack(array)?)?)
        } else {
            convert::canonical(array)
        }
    }

    /// The position of this column among others. A new one is added.
    pub(crate) fn position_in(self, inputs: &mut Vec<Self>) -> usize {
        inputs
            .iter()
            .position(|known| *known == self)
            .unwrap_or_else(|| {
                inputs.push(self);
                inputs.len() - 1
            })
    }
}
