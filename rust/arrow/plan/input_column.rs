//! A column that aggregates take.

use arrow_array::ArrayRef;
use arrow_schema::Field;

use crate::arrow::array::{canonical_float, convert};
use crate::error::Result;

/// A column that aggregates take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputColumn {
    /// The column.
    pub field: Field,
    /// Whether floats inside its values are brought to one NaN and one zero first, since row bytes
    /// are compared.
    pub canonical_floats: bool,
}

impl InputColumn {
    /// What aggregates take of the column's array.
    pub(crate) fn canonical(&self, array: ArrayRef) -> Result<ArrayRef> {
        convert::canonical(&if self.canonical_floats {
            canonical_float::canonical(&convert::unpack(&array)?)?
        } else {
            array
        })
    }

    /// Where this column stands among others; it is added where it does not.
    pub(crate) fn place(self, inputs: &mut Vec<Self>) -> usize {
        inputs
            .iter()
            .position(|known| *known == self)
            .unwrap_or_else(|| {
                inputs.push(self);
                inputs.len() - 1
            })
    }
}
