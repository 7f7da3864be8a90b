//! The sort keys of numbered keys.

use std::ops::ControlFlow;
use std::ops::Range;

use crate::array::halves::in_halves;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::keys::sort_key::SortKeys;

/// The number of keys per step.
const STEP: usize = 1 << 12;

/// Calls `each` with the sort key of each key, in the order of `keys`, until it breaks. `query`
/// maps key numbers to keys.
pub(super) fn each_sort_key(
    sort_keys: &SortKeys,
    query: &SessionTable,
    keys: &[KeyId],
    mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    for step in keys.chunks(STEP) {
        let mut make = |range: Range<usize>| {
            let keys = step.get(range).unwrap_or_default();
            Ok((sort_keys.of(&query.key_columns(keys)?)?, keys.len()))
        };
        for (names, rows) in in_halves(0..step.len(), &mut make)? {
            let mut names = (0..rows).filter_map(|row| names.get(row));
            if names.try_for_each(&mut each).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
