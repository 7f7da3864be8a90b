//! A block of changes, on their way from a shard to the last step: sealed (see
//! [`crate::arrow::format::envelope`]), with columns as `column_encoding` has them. It is compressed
//! where values have lengths of their own: numbers are short already, and hardly become shorter.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_schema::{DataType, Schema};

use super::column_encoding;
use super::envelope::{own_metadata, seal, unseal};
use crate::error::Result;

const WHAT: &str = "block of changes";

/// Bytes of a block, but for the names of its columns.
///
/// The JVM holds it as an array of bytes, in buffers of up to twice its length, and copies it several
/// times. Its G1 collector keeps arrays apart that are larger than half a region (512 KiB, where
/// regions have 1 MiB, the least), and may start to mark the whole heap for each of them. Smaller
/// blocks than these would cost more by their number.
const MOST: usize = 1 << 18;
/// Rows of the first block, before it is known how many bytes a row takes.
const FIRST_ROWS: usize = 1 << 12;

/// Changes as blocks of at most 256 KiB, or one row; none where there are no changes.
///
/// # Errors
///
/// [`crate::error::Error::Arrow`] for rows that Arrow cannot write.
pub fn encode(changes: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let names = block(&changes.slice(0, 0))?.len();
    let mut blocks = Vec::new();
    let (mut from, mut rows) = (0, FIRST_ROWS);
    while from < changes.num_rows() {
        let own = rows.clamp(1, changes.num_rows() - from);
        let block = block(&changes.slice(from, own))?;
        let bytes = block.len().saturating_sub(names).max(1);
        if bytes > MOST && own > 1 {
            rows = own / 2;
            continue;
        }
        blocks.push(block);
        from += own;
        rows = own.saturating_mul(MOST - MOST / 8) / bytes; // of rows that are somewhat larger, too
    }
    Ok(blocks)
}

/// The changes of a block.
///
/// # Errors
///
/// [`crate::error::Error::Format`] for damaged bytes, and those of another format.
pub fn decode(block: &[u8]) -> Result<RecordBatch> {
    let (metadata, rows) = unseal(WHAT, block)?;
    let rows = column_encoding::decode(WHAT, &rows)?;
    let fields = rows.schema_ref().fields().clone();
    let schema = Schema::new_with_metadata(fields, own_metadata(metadata));
    let columns = rows.columns().to_vec();
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

fn block(rows: &RecordBatch) -> Result<Vec<u8>> {
    let rows = column_encoding::encode(rows)?;
    let schema = rows.schema_ref();
    let mut types = schema.fields().iter().map(|field| field.data_type());
    let compression = (!types.all(is_of_one_length)).then_some(CompressionType::LZ4_FRAME);
    seal(&rows, schema.metadata().clone(), compression)
}

/// Whether each value takes the same number of bytes.
fn is_of_one_length(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            let mut types = fields.iter().map(|field| field.data_type());
            types.all(is_of_one_length)
        }
        DataType::Null | DataType::Boolean | DataType::FixedSizeBinary(_) => true,
        other => other.is_primitive(),
    }
}
