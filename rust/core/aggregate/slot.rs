//! A slot: the number of a session or window. Its states are in vectors, one vector per aggregate.

use std::ops::{Index, IndexMut};

use bytemuck::{Pod, Zeroable};

use crate::core::error::{Error, Result};

/// Index of one window's states.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Slot(pub u32);

impl Slot {
    /// The slot of a number.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] where 32 bits do not hold the number.
    pub fn of(number: usize) -> Result<Self> {
        u32::try_from(number).map(Self).map_err(|_| Error::Memory {
            what: format!("{number} windows at once, 2^32 or more"),
        })
    }

    /// All slots below a number.
    pub fn below(count: usize) -> Result<Vec<Self>> {
        Ok((0..Self::of(count)?.0).map(Self).collect())
    }

    /// The numbers of slots.
    pub fn numbers(slots: &[Self]) -> &[u32] {
        bytemuck::cast_slice(slots)
    }
}

/// One value per slot.
#[derive(Clone, Debug)]
pub(crate) struct PerSlot<T>(pub Vec<T>);

impl<T> Default for PerSlot<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> PerSlot<T> {
    /// Grows to `slots` slots; new ones hold `identity`.
    pub(crate) fn resize(&mut self, slots: usize, identity: T) {
        self.0.resize(slots, identity);
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "whoever hands out a slot resizes the vectors first"
)]
impl<T> Index<Slot> for PerSlot<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: Slot) -> &T {
        &self.0[slot.0 as usize]
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "whoever hands out a slot resizes the vectors first"
)]
impl<T> IndexMut<Slot> for PerSlot<T> {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.0[slot.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_does_not_fit_is_no_slot() {
        let most = u32::MAX as usize;
        assert_eq!(Slot::of(most).unwrap(), Slot(u32::MAX));
        assert!(matches!(Slot::of(most + 1), Err(Error::Memory { .. })));
        assert!(matches!(Slot::below(most + 1), Err(Error::Memory { .. })));
    }
}
