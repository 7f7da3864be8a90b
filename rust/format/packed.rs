//! Packed rows, which move through Spark's shuffle. A row is a block of one shard, cut by time.
//!
//! | column | type | contents |
//! |---|---|---|
//! | `shard` | int32 | the key of the shard in Spark ([`crate::format::shard_key`]) |
//! | `first` | int64 | the least time in the block, in ticks |
//! | `block` | binary | see [`crate::format::block`] |
//!
//! If the blocks of a shard are read in the order of `first`, a window can leave once the next
//! block starts after it is due.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::block::{self, BlockKind};
use super::frame_of_reference;
use super::shard_key;
use crate::core::error::{Error, Result};
use crate::core::time::Time;

/// The number of blocks in a batch of packed rows.
const BATCH_BLOCKS: usize = 256;

/// The schema of packed rows.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("shard", DataType::Int32, false),
        Field::new("first", DataType::Int64, false),
        Field::new("block", DataType::Binary, false),
    ]))
}

/// Cuts rows, sorted by shard and time, into packed rows with blocks of about `block_bytes` bytes.
///
/// # Errors
///
/// [`Error::Arrow`] for rows that Arrow cannot write.
pub fn pack(
    kind: BlockKind,
    rows: &RecordBatch,
    shards: &[u32],
    times: &[Time],
    block_bytes: usize,
) -> Result<Vec<RecordBatch>> {
    let rows = frame_of_reference::encode(rows)?; // to measure rows as they are in blocks
    let width = rows.get_array_memory_size() / rows.num_rows().max(1);
    let most = (block_bytes / width.max(1)).max(1);
    let mut packed = Vec::new();
    let mut batch = Builder::default();
    let mut from = 0;
    for run in shards.chunk_by(|left, right| left == right) {
        for cut in run.chunks(most) {
            if let (Some(&shard), Some(&first)) = (cut.first(), times.get(from)) {
                batch.append(
                    shard,
                    first,
                    &block::encode(kind, &rows.slice(from, cut.len()))?,
                );
                if batch.blocks == BATCH_BLOCKS {
                    packed.push(batch.finish()?);
                }
            }
            from += cut.len();
        }
    }
    if batch.blocks > 0 {
        packed.push(batch.finish()?);
    }
    Ok(packed)
}

#[derive(Default)]
struct Builder {
    shard: Int32Builder,
    first: Int64Builder,
    block: BinaryBuilder,
    blocks: usize,
}

impl Builder {
    fn append(&mut self, shard: u32, first: Time, block: &[u8]) {
        self.shard.append_value(shard_key::of(shard));
        self.first.append_value(first.0);
        self.block.append_value(block);
        self.blocks += 1;
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        self.blocks = 0;
        let columns: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(self.shard.finish()),
            Arc::new(self.first.finish()),
            Arc::new(self.block.finish()),
        ];
        Ok(RecordBatch::try_new(schema(), columns)?)
    }
}

/// A packed row.
pub struct PackedRow<'a> {
    /// The key of the shard.
    pub shard: i32,
    /// The least time in the block.
    pub first: Time,
    /// The block.
    pub block: &'a [u8],
}

/// Reads the packed rows of a batch. Extra columns may follow the three.
///
/// # Errors
///
/// [`Error::Format`] for unexpected columns, or a null.
pub fn unpack(batch: &RecordBatch) -> Result<Vec<PackedRow<'_>>> {
    let [shard, first, block, ..] = batch.columns() else {
        return Err(Error::Format {
            what: "packed rows",
            reason: format!("{} columns instead of three", batch.num_columns()),
        });
    };
    let wrong = || Error::Format {
        what: "packed rows",
        reason: format!("unexpected columns {:?}", batch.schema().fields()),
    };
    let shard = shard.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
    let first = first.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
    let blocks: Vec<&[u8]> = match block.data_type() {
        DataType::Binary => block.as_binary::<i32>().iter().flatten().collect(),
        DataType::LargeBinary => block.as_binary::<i64>().iter().flatten().collect(),
        DataType::BinaryView => block.as_binary_view().iter().flatten().collect(),
        _ => return Err(wrong()),
    };
    if blocks.len() != batch.num_rows() || shard.null_count() + first.null_count() > 0 {
        return Err(Error::Format {
            what: "packed rows",
            reason: "a null".into(),
        });
    }
    let rows = shard.values().iter().zip(first.values()).zip(blocks);
    Ok(rows
        .map(|((&shard, &first), block)| PackedRow {
            shard,
            first: Time(first),
            block,
        })
        .collect())
}
