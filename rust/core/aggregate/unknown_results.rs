//! Results that no state knows: a window may be older than an aggregate of its query.
//!
//! A query may continue the open windows of another query that lacked one of its aggregates. The
//! records that such a window already has were never added, so the result of this aggregate is null
//! in the window, and in every window that has its records.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_select::nullif::nullif;

use super::scalar::Scalar;
use super::slot::Slot;
use crate::core::error::Result;

/// For each aggregate with an unknown result, which slots have it. Slots past the end have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownResults(BTreeMap<usize, Vec<bool>>);

impl UnknownResults {
    /// Whether the result of an aggregate in a slot is unknown.
    pub(crate) fn has(&self, aggregate: usize, slot: Slot) -> bool {
        let slots = self.0.get(&aggregate);
        slots.is_some_and(|slots| slots.get(slot.0 as usize) == Some(&true))
    }

    /// Marks the result of an aggregate in a slot as unknown.
    pub(crate) fn mark(&mut self, aggregate: usize, slot: Slot) {
        let (slots, place) = (self.0.entry(aggregate).or_default(), slot.0 as usize);
        if slots.len() <= place {
            slots.resize(place + 1, false);
        }
        if let Some(is_unknown) = slots.get_mut(place) {
            *is_unknown = true;
        }
    }

    /// Slot `into[i]` also has the records of slot `from[i]` of `other`.
    pub(super) fn merge(&mut self, into: &[Slot], other: &Self, from: &[Slot]) {
        for &aggregate in other.0.keys() {
            let slots = into.iter().zip(from);
            for (&into, _) in slots.filter(|&(_, &from)| other.has(aggregate, from)) {
                self.mark(aggregate, into);
            }
        }
    }

    /// Slot `into` has the records of slot `from` too.
    pub(super) fn absorb(&mut self, into: Slot, from: Slot) {
        let unknown = self.0.keys().copied();
        let unknown: Vec<usize> = unknown
            .filter(|&aggregate| self.has(aggregate, from))
            .collect();
        unknown
            .into_iter()
            .for_each(|aggregate| self.mark(aggregate, into));
    }

    /// Slot `to` has the records of slot `from`, and no others.
    pub(super) fn copy(&mut self, to: Slot, from: Slot) {
        for slots in self.0.values_mut() {
            let is_unknown = slots.get(from.0 as usize) == Some(&true);
            if is_unknown && slots.len() <= to.0 as usize {
                slots.resize(to.0 as usize + 1, false);
            }
            if let Some(entry) = slots.get_mut(to.0 as usize) {
                *entry = is_unknown;
            }
        }
    }

    /// A slot has no records.
    pub(super) fn clear(&mut self, slot: Slot) {
        for slots in self.0.values_mut() {
            if let Some(is_unknown) = slots.get_mut(slot.0 as usize) {
                *is_unknown = false;
            }
        }
    }

    /// Makes the unknown results of an aggregate null. `column` has the results of `slots`.
    pub(super) fn hide(
        &self,
        aggregate: usize,
        slots: &[Slot],
        column: &mut ArrayRef,
    ) -> Result<()> {
        if self.0.contains_key(&aggregate) {
            let is_unknown = slots.iter().map(|&slot| self.has(aggregate, slot));
            *column = nullif(column, &is_unknown.collect::<Vec<_>>().into())?;
        }
        Ok(())
    }

    /// A column with the numbers of the aggregates whose results are unknown, as bits, a row for each
    /// of `slots`. `None` if all results are known.
    pub(crate) fn save(&self, slots: &[Slot]) -> Option<ArrayRef> {
        let bits = |&slot: &Slot| {
            let mut bits = Vec::new();
            for &aggregate in self.0.keys() {
                if self.has(aggregate, slot) {
                    bits.resize(aggregate / 8 + 1, 0);
                    if let Some(byte) = bits.last_mut() {
                        *byte |= 1 << (aggregate % 8);
                    }
                }
            }
            bits
        };
        let rows: Vec<Vec<u8>> = slots.iter().map(bits).collect();
        let is_known = rows.iter().all(Vec::is_empty);
        (!is_known).then(|| Box::<[u8]>::dense(rows.iter().map(Vec::as_slice)))
    }

    /// Reads what [`Self::save`] wrote: a slot per row.
    pub(super) fn load(column: &ArrayRef) -> Result<Self> {
        let bytes = Box::<[u8]>::view(column)?;
        let mut unknown = Self::default();
        for row in 0..column.len() {
            let (slot, bytes) = (Slot::of(row)?, Box::<[u8]>::at(bytes, row));
            set_bits(bytes).for_each(|aggregate| unknown.mark(aggregate, slot));
        }
        Ok(unknown)
    }
}

/// The numbers of the bits that are set.
fn set_bits(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let bytes = bytes.iter().enumerate();
    bytes.flat_map(|(place, &byte)| {
        (0..8)
            .filter(move |bit| byte >> bit & 1 == 1)
            .map(move |bit| 8 * place + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(pairs: &[(usize, u32)]) -> UnknownResults {
        let mut unknown = UnknownResults::default();
        for &(aggregate, slot) in pairs {
            unknown.mark(aggregate, Slot(slot));
        }
        unknown
    }

    #[test]
    fn records_carry_what_is_unknown() {
        let mut unknown = marked(&[(0, 1), (9, 2)]);
        unknown.merge(&[Slot(3), Slot(4)], &unknown.clone(), &[Slot(1), Slot(0)]);
        assert!(unknown.has(0, Slot(3)) && !unknown.has(0, Slot(4)) && !unknown.has(9, Slot(3)));
        unknown.copy(Slot(70), Slot(2));
        unknown.copy(Slot(1), Slot(0));
        assert!(unknown.has(9, Slot(70)) && !unknown.has(0, Slot(1)));
        unknown.clear(Slot(70));
        assert!(!unknown.has(9, Slot(70)));
    }

    #[test]
    fn what_is_saved_is_read() {
        assert!(marked(&[]).save(&[Slot(0)]).is_none());
        assert!(marked(&[(0, 1)]).save(&[Slot(0)]).is_none());
        let unknown = marked(&[(0, 0), (7, 1), (8, 1), (23, 2)]);
        let slots: Vec<Slot> = (0..4).map(Slot).collect();
        let column = unknown.save(&slots).unwrap();
        let read = UnknownResults::load(&column).unwrap();
        for aggregate in 0..24 {
            for &slot in &slots {
                assert_eq!(read.has(aggregate, slot), unknown.has(aggregate, slot));
            }
        }
        let numbers = i64::dense([1]);
        assert!(UnknownResults::load(&numbers).is_err());
    }
}
