//! A block of changes, on their way from a shard to the last step: sealed (see
//! [`crate::format::envelope`]), with columns as `column_encoding` has them. It lasts no longer
//! than a micro-batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_schema::Schema;

use super::column_encoding;
use super::envelope::{own_metadata, seal, unseal};
use crate::array::value_bytes::value_bytes;
use crate::core::error::Result;

const WHAT: &str = "block of changes";

/// Bytes of a block of several rows, or at least of its values: fewer rows do not help against the
/// names of many columns.
///
/// The JVM holds it as an array of bytes, in buffers of up to twice its length, and copies it several
/// times. Its G1 collector keeps arrays apart that are larger than half a region (512 KiB, where
/// regions have 1 MiB, the least), and may start to mark the whole heap for each of them. Smaller
/// blocks than these would cost more by their number.
const MOST: usize = 1 << 18;
/// Bytes that a block is to have: the next one takes somewhat more for as many values.
const WANTED: usize = MOST - MOST / 8;
/// Bytes of the values of a block of several rows: the batch that it is made into again.
const VALUES: usize = 1 << 21;
/// How many blocks are compressed where one of them has become shorter by a third. LZ4 takes as long
/// as copies of about that many bytes on the way of a block.
const ALIKE: usize = 16;

/// Changes as blocks of at most 256 KiB, or of so many bytes of values, or of one row; none where there
/// are no changes.
///
/// # Errors
///
/// [`crate::core::error::Error::Arrow`] for rows that Arrow cannot write.
pub fn encode(changes: &RecordBatch) -> Result<Vec<Vec<u8>>> {
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
        most = (values.saturating_mul(WANTED) / bytes.len().max(1)).clamp(WANTED, VALUES);
        blocks.push(bytes);
    }
    Ok(blocks)
}

/// The changes of a block.
///
/// # Errors
///
/// [`crate::core::error::Error::Format`] for damaged bytes, and those of another format.
pub fn decode(block: &[u8]) -> Result<RecordBatch> {
    let (metadata, rows) = unseal(WHAT, block)?;
    let rows = column_encoding::decode(WHAT, &rows)?;
    let fields = rows.schema_ref().fields().clone();
    let schema = Schema::new_with_metadata(fields, own_metadata(metadata));
    let columns = rows.columns().to_vec();
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// As many rows as have this many bytes of values, one at least.
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

/// Encoded rows as a block, compressed where it becomes shorter by a third.
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
