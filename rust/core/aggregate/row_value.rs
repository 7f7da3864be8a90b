//! The value of one row, which may be null, and the row's position.

use arrow_array::{Array, ArrayRef};

use super::scalar::Scalar;
use super::{RowPosition, state_columns};
use crate::core::error::Result;
use crate::core::time::Time;

/// The value of one row and its position.
#[derive(Clone, Debug)]
pub(super) struct RowValue<V> {
    /// The row's position.
    pub position: RowPosition,
    value: V,
    valid: bool,
}

impl<V: Scalar> RowValue<V> {
    /// Of a row.
    pub(super) fn new(position: RowPosition, value: Option<V::Ref<'_>>) -> Self {
        Self {
            position,
            valid: value.is_some(),
            value: value.map(V::from_ref).unwrap_or_default(),
        }
    }

    /// Overwrites it with another row.
    #[inline]
    pub(super) fn set(&mut self, position: RowPosition, value: Option<V::Ref<'_>>) {
        self.position = position;
        self.valid = value.is_some();
        if let Some(value) = value {
            self.value.set(value);
        }
    }

    /// The row's value.
    #[inline]
    pub(super) fn get(&self) -> Option<V::Ref<'_>> {
        self.valid.then(|| self.value.get())
    }

    /// State columns: times (null without a row), arrivals, values.
    pub(super) fn save<'s>(rows: impl Iterator<Item = Option<&'s Self>> + Clone) -> [ArrayRef; 3] {
        [
            i64::column(rows.clone().map(|row| Some(row?.position.0.0))),
            i64::column(rows.clone().map(|row| Some(row?.position.1 as i64))),
            V::column(rows.map(|row| row?.get())),
        ]
    }

    /// Reads what `save` wrote.
    pub(super) fn load(columns: &[ArrayRef]) -> Result<Vec<Option<Self>>> {
        let [times, seq_nos, values] = state_columns(columns)?;
        let row = Self::reader([times, seq_nos, values])?;
        Ok((0..times.len()).map(row).collect())
    }

    /// Reads the rows of columns that `save` wrote.
    pub(super) fn reader(
        [times, seq_nos, values]: [&ArrayRef; 3],
    ) -> Result<impl Fn(usize) -> Option<Self>> {
        let (times, seq_nos, values) = (i64::view(times)?, i64::view(seq_nos)?, V::view(values)?);
        Ok(move |row| {
            let time = Time(i64::read(times, row)?);
            let position = (time, i64::at(seq_nos, row) as u64);
            Some(Self::new(position, V::read(values, row)))
        })
    }
}
