//! The shards of keys, and rows sorted by shard.

use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sort::{order, pick};
use crate::core::time::Time;
use crate::keys::{KeyInterner, shard};

/// Rows sorted by (shard, time).
pub(super) struct SortedByShard {
    /// The number of each row.
    pub rows: Vec<u32>,
    /// The shard of each row.
    pub shards: Vec<u32>,
    /// The time of each row.
    pub times: Vec<Time>,
}

impl SortedByShard {
    /// Sorts rows by shard and time. Both slices are parallel to the rows. Ties keep their order.
    ///
    /// # Errors
    ///
    /// The errors of the interrupt.
    pub(super) fn new(shards: &[u32], times: &[Time], interrupt: &Interrupt) -> Result<Self> {
        // This sort treats the shard as the key.
        let rows = order(bytemuck::cast_slice(shards), times, interrupt)?;
        Ok(Self {
            shards: pick(shards, &rows)?,
            times: pick(times, &rows)?,
            rows,
        })
    }
}

/// The shard of each key. A null key gets 0, and the caller places its row.
///
/// # Errors
///
/// [`Error::Internal`] for a key without a number.
pub(super) fn of(interner: &KeyInterner, count: u32, keys: &[KeyId]) -> Result<Vec<u32>> {
    let hashes = interner.hashes();
    let shard_of = |key: &KeyId| match hashes.get(key.0 as usize) {
        Some(&hash) => Ok(shard(hash, count)),
        None if *key == KeyId::NULL => Ok(0),
        None => Err(Error::Internal("a key has no hash")),
    };
    keys.iter().map(shard_of).collect()
}
