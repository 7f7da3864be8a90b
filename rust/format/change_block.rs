//! A sealed block of changes (see [`crate::format::envelope`]), sent from a shard to the last step.
//! Its columns are encoded by `column_encoding`. It only lives during a micro-batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_schema::Schema;

use super::column_encoding::{self, MOST_VALUES};
use super::envelope::{own_metadata, seal, unseal};
use crate::array::value_bytes::value_bytes;
use crate::core::error::{Error, Result};

const WHAT: &str = "block of changes";

/// The maximum size of a block of several rows, in bytes. It applies to the block or to its values,
/// whichever is smaller: fewer rows do not shrink the names of many columns.
///
/// The JVM stores a block as a byte array, in buffers of up to twice its length, and copies it
/// several times. Its G1 collector treats an array larger than half a region specially, and may
/// start to mark the whole heap for each one. The smallest regions have 1 MiB, so a buffer has at
/// most 512 KiB and a block half of that. Smaller blocks would cost more through their number.
const MOST: usize = 1 << 18;
/// The intended size of a block, in bytes. It leaves room because the next block may need more
/// bytes for as many values.
const WANTED: usize = MOST - MOST / 8;
/// One trial of compression decides for this many blocks. It succeeds if the block shrinks by a
/// third. LZ4 takes about as long as copying that third along the way of a block.
const ALIKE: usize = 16;

/// Encodes changes as blocks of at most 256 KiB. A block may be larger if its values take at most
/// 256 KiB, or if it has one row. Without changes there are no blocks.
pub(crate) fn encode(changes: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let (mut blocks, mut from, mut most) = (Vec::new(), 0, WANTED);
    let mut compression = None;
    while from < changes.num_rows() {
        let rows = fitting(changes, from, most);
        let values = bytes_of_values(changes, &rows);
        let own = column_encoding::encode(&changes.slice(from, rows.len()))?;
        let bytes = if blocks.len().is_multiple_of(ALIKE) {
            let (bytes, found) = compressed(&own)?;
            compression = found;
            bytes
        } else {
            sealed(&own, compression)?
        };
        if bytes.len().min(values) > MOST && rows.len() > 1 {
            most = values / 2;
            continue;
        }
        from = rows.end;
        most = (values.saturating_mul(WANTED) / bytes.len().max(1)).clamp(WANTED, MOST_VALUES);
        blocks.push(bytes);
    }
    Ok(blocks)
}

/// Reads the changes of a block.
pub(crate) fn decode(block: &[u8]) -> Result<RecordBatch> {
    let (metadata, rows) = unseal(WHAT, block)?;
    // Each value has a byte, except in a column of nulls, which has any number of them.
    if rows.num_rows() > MOST_VALUES {
        return Err(Error::Format {
            what: WHAT,
            reason: format!("{} rows are more than a block holds", rows.num_rows()),
        });
    }
    let rows = column_encoding::decode(WHAT, &rows)?;
    let fields = rows.schema_ref().fields().clone();
    let schema = Schema::new_with_metadata(fields, own_metadata(metadata));
    let columns = rows.columns().to_vec();
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// The longest range of rows from `from` with at most `most` bytes of values, but at least one row.
fn fitting(changes: &RecordBatch, from: usize, most: usize) -> Range<usize> {
    let (mut least, mut end) = (from + 1, changes.num_rows());
    while least < end {
        let middle = least + (end - least).div_ceil(2);
        if bytes_of_values(changes, &(from..middle)) <= most {
            least = middle;
        } else {
            end = middle - 1;
        }
    }
    from..least
}

fn bytes_of_values(changes: &RecordBatch, rows: &Range<usize>) -> usize {
    let columns = changes.columns().iter();
    columns
        .map(|column| value_bytes(column, rows.clone()))
        .sum()
}

/// Seals encoded rows, compressed if that shrinks them by a third.
fn compressed(rows: &RecordBatch) -> Result<(Vec<u8>, Option<CompressionType>)> {
    const LZ4: Option<CompressionType> = Some(CompressionType::LZ4_FRAME);
    let (plain, short) = (sealed(rows, None)?, sealed(rows, LZ4)?);
    Ok(if 3 * short.len() <= 2 * plain.len() {
        (short, LZ4)
    } else {
        (plain, None)
    })
}

fn sealed(rows: &RecordBatch, compression: Option<CompressionType>) -> Result<Vec<u8>> {
    seal(rows, rows.schema_ref().metadata().clone(), compression)
}
