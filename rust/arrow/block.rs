//! A block: partial results of one shard, sealed (see [`super::sealed`]).

use arrow_array::RecordBatch;

use super::sealed::{Metadata, seal, unseal};
use crate::error::Result;

/// Writes the rows of a batch.
pub fn encode(batch: &RecordBatch) -> Result<Vec<u8>> {
    seal(batch, Metadata::new())
}

/// Reads a block. Damaged bytes, or those of another format, are an error.
pub fn decode(bytes: &[u8]) -> Result<RecordBatch> {
    Ok(unseal("block", bytes)?.1)
}
