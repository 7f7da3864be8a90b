//! The rows of each key.

use crate::core::key::KeyId;

/// No row.
const NONE: u32 = u32::MAX;

/// Rows by the numbers of their keys, as chains: a key's last row, and the row before each row.
pub(super) struct RowsByKey {
    last: Vec<u32>,
    before: Vec<u32>,
}

impl RowsByKey {
    /// The rows of some keys; `keys` has the key of every row, of which `rows` count.
    pub fn new(keys: &[KeyId], rows: impl Iterator<Item = u32>) -> Self {
        let most = keys.iter().map(|key| key.0 as usize + 1).max();
        let mut last = vec![NONE; most.unwrap_or_default()];
        let mut before = vec![NONE; keys.len()];
        for row in rows {
            let key = keys
                .get(row as usize)
                .and_then(|key| last.get_mut(key.0 as usize));
            if let (Some(last), Some(before)) = (key, before.get_mut(row as usize)) {
                *before = std::mem::replace(last, row);
            }
        }
        Self { last, before }
    }

    /// The rows of a key.
    pub fn of(&self, key: KeyId) -> impl Iterator<Item = usize> {
        let some = |row: u32| (row != NONE).then_some(row as usize);
        let last = self.last.get(key.0 as usize).copied().and_then(some);
        std::iter::successors(last, move |&row| {
            self.before.get(row).copied().and_then(some)
        })
    }
}
