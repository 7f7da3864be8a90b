//! The id of a window: a hash of its key and its start, the same in every run and on every machine.
//!
//! `xxh3_64` (seed 0) of 24 bytes, as a signed number: the hash of the key
//! ([`crate::keys::shard_hash`]), 8 bytes, then the start in nanoseconds since 1970, 16 bytes; both
//! little-endian.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use xxhash_rust::xxh3::xxh3_64;

use super::window_lengths::per_second;
use crate::core::error::{Error, Result};
use crate::core::window::Window;
use crate::keys::shard_hash;

/// The ids of windows; `keys` and `windows` are parallel.
///
/// # Errors
///
/// [`Error::ColumnType`] for a time column that is not a timestamp, and a key of 2^32 bytes.
pub(crate) fn of(keys: &[ArrayRef], windows: &[Window], time: &DataType) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, _) = time else {
        return Err(Error::Internal("the time column is not a timestamp"));
    };
    let tick = 1_000_000_000 / per_second(*unit);
    let mut bytes = Vec::new();
    let ids = windows.iter().enumerate().map(|(row, window)| {
        let hash = shard_hash::hash(keys, row, &mut bytes)?;
        let start = i128::from(window.start.0) * tick;
        let mut id = [0; 24];
        let (key, nanoseconds) = id.split_at_mut(8);
        key.copy_from_slice(&hash.to_le_bytes());
        nanoseconds.copy_from_slice(&start.to_le_bytes());
        Ok(xxh3_64(&id).cast_signed())
    });
    Ok(Arc::new(Int64Array::from(ids.collect::<Result<Vec<_>>>()?)))
}
