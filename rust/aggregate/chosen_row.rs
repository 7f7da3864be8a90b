//! What a choice of one row keeps: the row's value, which may be null, and where the row stands.

use super::column::Column;
use super::scalar::Scalar;
use super::{RowPosition, columns_of};
use crate::error::Result;
use crate::time::Time;

/// The value of one row and its place.
#[derive(Clone, Debug)]
pub(super) struct ChosenRow<V> {
    /// Where the row stands.
    pub place: RowPosition,
    value: V,
    valid: bool,
}

impl<V: Scalar> ChosenRow<V> {
    /// Holds a row.
    pub(super) fn new(place: RowPosition, value: Option<V::Ref<'_>>) -> Self {
        Self {
            place,
            valid: value.is_some(),
            value: value.map(V::holding).unwrap_or_default(),
        }
    }

    /// Holds another row instead.
    #[inline]
    pub(super) fn set(&mut self, place: RowPosition, value: Option<V::Ref<'_>>) {
        self.place = place;
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

    /// State columns: times (null where nothing is held), arrivals, values.
    pub(super) fn save<'s>(
        held: impl Iterator<Item = Option<&'s Self>> + Clone,
    ) -> [Column<'static>; 3] {
        [
            i64::column(held.clone().map(|held| Some(held?.place.0.0))),
            i64::column(held.clone().map(|held| Some(held?.place.1 as i64))),
            V::column(held.map(|held| held?.get())),
        ]
    }

    /// Reads back what `save` wrote.
    pub(super) fn load(states: &[Column<'_>]) -> Result<Vec<Option<Self>>> {
        let ([times, seq_nos, values], len) = columns_of(states)?;
        let (ticks, orders, view) = (i64::view(times)?, i64::view(seq_nos)?, V::view(values)?);
        let held = |row: usize| {
            let place = (Time(i64::at(ticks, row)), i64::at(orders, row) as u64);
            times
                .is_valid(row)
                .then(|| Self::new(place, values.is_valid(row).then(|| V::at(view, row))))
        };
        Ok((0..len).map(held).collect())
    }
}
