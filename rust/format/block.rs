//! A block: sealed rows of one shard (see [`crate::format::envelope`]), with the kind of its rows.

use arrow_array::RecordBatch;

use super::envelope::{Metadata, seal, unseal};
use crate::core::error::{Error, Result};

const FORM_KEY: &str = "windrow.block";
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
pub(crate) fn encode(form: BlockKind, batch: &RecordBatch) -> Result<Vec<u8>> {
    seal(
        batch,
        Metadata::from([(FORM_KEY.to_owned(), form.name().to_owned())]),
        None, // Spark compresses shuffled data
    )
}

/// Reads a block.
pub(crate) fn decode(bytes: &[u8]) -> Result<(BlockKind, RecordBatch)> {
    let (metadata, rows) = unseal(WHAT, bytes)?;
    let named = metadata.get(FORM_KEY);
    let form = BlockKind::ALL
        .into_iter()
        .find(|form| named.is_some_and(|name| name == form.name()));
    let form = form.ok_or_else(|| Error::Format {
        what: WHAT,
        reason: format!("it holds {named:?}, which this version does not know"),
    })?;
    Ok((form, rows))
}
