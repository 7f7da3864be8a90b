//! The shards of keys, and rows sorted by shard.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::array::halves::in_halves;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sort::{order, pick};
use crate::core::time::Time;
use crate::keys::shard_hash::ShardHash;
use crate::keys::{KeyInterner, shard};
use crate::plan::query::Query;

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

/// The shard of each numbered key. A null key gets 0.
pub(super) fn of(interner: &KeyInterner, query: &Query, keys: &[KeyId]) -> Result<Vec<u32>> {
    let mut own = |range: Range<usize>| {
        let keys = keys.get(range).unwrap_or_default();
        of_columns(query, &interner.columns(keys)?)
    };
    Ok(in_halves(0..keys.len(), &mut own)?.concat())
}

/// The shard of the key of each row of these columns. A null key gets 0.
pub(super) fn of_columns(query: &Query, keys: &[ArrayRef]) -> Result<Vec<u32>> {
    let hashes = ShardHash::new(&query.keys)?.hashes(keys)?;
    let shard_of = |hash: Option<u64>| hash.map_or(0, |hash| shard(hash, query.shards));
    Ok(hashes.into_iter().map(shard_of).collect())
}
