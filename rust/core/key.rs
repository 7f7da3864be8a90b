//! Key numbers.

use bytemuck::{Pod, Zeroable};

/// A key's dense number, in order of first appearance.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct KeyId(pub u32);

impl KeyId {
    /// The number of a row whose key columns are all null.
    pub const NULL: Self = Self(u32::MAX);

    /// The number of the next key after `known` keys. `None` if all numbers are in use.
    #[inline]
    pub fn after(known: usize) -> Option<Self> {
        u32::try_from(known)
            .ok()
            .map(Self)
            .filter(|&id| id != Self::NULL)
    }
}
