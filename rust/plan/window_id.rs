//! The id of a window: a hash of its key, its start and its place among windows of the same start, the same in every run and on every machine.
//!
//! `xxh3_64` (seed 0) of 24 bytes, as a signed number: the hash of the key
//! ([`crate::keys::shard_hash`]), 8 bytes, then the start in nanoseconds since 1970, 16 bytes; both
//! little-endian. If sessions of the key with the same start come before the window, their number
//! follows in 4 bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use xxhash_rust::xxh3::xxh3_64;

use super::window_lengths::per_second;
use crate::core::error::{Error, Result};
use crate::core::operator::session_end::SessionEnd;
use crate::core::window::Window;
use crate::keys::shard_hash;

/// The ids of windows; `keys` and `windows` are parallel, and so are `ends`, if there are any.
pub(crate) fn of(
    keys: &[ArrayRef],
    windows: &[Window],
    ends: &[SessionEnd],
    time: &DataType,
) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, _) = time else {
        return Err(Error::Internal("the time column is not a timestamp"));
    };
    let tick = 1_000_000_000 / per_second(*unit);
    let mut bytes = Vec::new();
    let ids = windows.iter().enumerate().map(|(row, window)| {
        let hash = shard_hash::hash(keys, row, &mut bytes)?;
        let start = i128::from(window.start.0) * tick;
        let mut id = [0; 28];
        let parts = hash.to_le_bytes().into_iter().chain(start.to_le_bytes());
        let ordinal = ends.get(row).map_or(0, |end| end.ordinal);
        let parts = parts.chain(ordinal.to_le_bytes());
        id.iter_mut()
            .zip(parts)
            .for_each(|(byte, part)| *byte = part);
        let length = if ordinal == 0 { 24 } else { 28 };
        Ok(xxh3_64(id.get(..length).unwrap_or_default()).cast_signed())
    });
    Ok(Arc::new(Int64Array::from(ids.collect::<Result<Vec<_>>>()?)))
}
