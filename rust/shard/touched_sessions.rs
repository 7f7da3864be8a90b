//! Stored sessions that a micro-batch leaves as they are: it has no record of their keys, and they
//! neither close nor leave. They stay in the columns of their page.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use super::incoming::Incoming;
use crate::array::halves::in_halves;
use crate::core::error::Result;
use crate::core::window::{Extent, Horizon};
use crate::keys::bloom::BloomFilter;
use crate::keys::partition_hash::PartitionHash;
use crate::plan::query::Query;
use crate::state::stored_windows::StoredWindows;

/// Tells which sessions of a page a micro-batch touches.
pub(super) struct TouchedSessions {
    hash: PartitionHash,
    /// The keys of the micro-batch, and a few others.
    keys: BloomFilter,
    after: Horizon,
}

impl TouchedSessions {
    /// The sessions that a micro-batch touches, after which `after` is the horizon.
    pub(super) fn new(query: &Query, incoming: &Incoming, after: Horizon) -> Result<Self> {
        let all = incoming.sessions.key_ids();
        let (hash, mut keys) = (
            PartitionHash::new(&query.keys)?,
            BloomFilter::new(all.len()),
        );
        let mut hashes = |range: Range<usize>| {
            let mut hashes = Vec::new();
            let own = all.get(range).unwrap_or_default();
            hash.hash(&incoming.sessions.key_columns(own)?, &mut hashes)?;
            Ok(hashes)
        };
        for hash in in_halves(0..all.len(), &mut hashes)?.into_iter().flatten() {
            keys.insert(hash);
        }
        Ok(Self { hash, keys, after })
    }

    /// Splits a page: its sessions that the micro-batch may touch, and those that it leaves alone.
    pub(super) fn split(&self, page: &StoredWindows) -> Result<[StoredWindows; 2]> {
        let mut hashes = Vec::new();
        self.hash.hash(page.keys(), &mut hashes)?;
        let leaves = |extent: &Extent| {
            extent.closed_before(self.after.close) || !extent.is_visible(self.after)
        };
        let extents = page.extents()?;
        let each = extents.iter().zip(hashes);
        let is_touched = each.map(|(extent, hash)| self.keys.may_contain(hash) || leaves(extent));
        let is_touched: BooleanBuffer = is_touched.collect();
        Ok([page.filter(&is_touched)?, page.filter(&!&is_touched)?])
    }
}
