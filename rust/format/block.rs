//! A block: sealed rows of one shard (see [`crate::format::envelope`]), with the kind of its rows.

use arrow_array::RecordBatch;

use super::envelope::{Metadata, seal, unseal};
use crate::core::error::{Error, Result};

const KIND_KEY: &str = "windrow.block";
const WHAT: &str = "block";

/// The kind of the rows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A partial session, with the states of its aggregates.
    Sessions,
    /// A record.
    Records,
}

impl BlockKind {
    const ALL: [Self; 2] = [Self::Sessions, Self::Records];

    fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Records => "records",
        }
    }
}

/// Writes a batch as a block.
pub(crate) fn encode(kind: BlockKind, batch: &RecordBatch) -> Result<Vec<u8>> {
    seal(
        batch,
        Metadata::from([(KIND_KEY.to_owned(), kind.name().to_owned())]),
        None, // Spark compresses shuffled data
    )
}

/// Reads a block.
pub(crate) fn decode(bytes: &[u8]) -> Result<(BlockKind, RecordBatch)> {
    let (metadata, rows) = unseal(WHAT, bytes)?;
    let named = metadata.get(KIND_KEY);
    let kind = BlockKind::ALL
        .into_iter()
        .find(|kind| named.is_some_and(|name| name == kind.name()));
    let kind = kind.ok_or_else(|| Error::Format {
        what: WHAT,
        reason: format!("it holds {named:?}, which this version does not know"),
    })?;
    Ok((kind, rows))
}
