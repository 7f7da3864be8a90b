//! A block: partial results of one shard as one Arrow IPC stream, which any Arrow library opens.
//!
//! | part | what it is |
//! |---|---|
//! | schema message | the columns; metadata `windrow.format` |
//! | record batch message | the rows |
//! | end of stream | eight bytes |
//! | checksum | xxh3-64 over all bytes before it, eight bytes, little-endian; Arrow reads no further than the end of stream |

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// Version of everything inside a block.
pub const FORMAT: &str = "1";
const FORMAT_KEY: &str = "windrow.format";

/// Writes the rows of a batch.
pub fn encode(batch: &RecordBatch) -> Result<Vec<u8>> {
    let metadata = HashMap::from([(FORMAT_KEY.to_owned(), FORMAT.to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(batch.schema().fields().clone(), metadata));
    let mut block = Vec::new();
    let mut writer = StreamWriter::try_new(&mut block, &schema)?;
    writer.write(&batch.clone().with_schema(Arc::clone(&schema))?)?;
    writer.finish()?;
    drop(writer);
    let checksum = xxh3_64(&block);
    block.extend_from_slice(&checksum.to_le_bytes());
    Ok(block)
}

/// Reads a block. Damaged bytes, or those of another format, are an error.
pub fn decode(bytes: &[u8]) -> Result<RecordBatch> {
    let broken = |reason: String| Error::Format { what: "block", reason };
    let damaged = || broken("its checksum does not match: the bytes are damaged, cut off or no block".into());
    let (stream, checksum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
    if u64::from_le_bytes(*checksum) != xxh3_64(stream) {
        return Err(damaged());
    }
    let mut reader = StreamReader::try_new(Cursor::new(stream), None).map_err(|error| broken(error.to_string()))?;
    match reader.schema().metadata().get(FORMAT_KEY).map(String::as_str) {
        Some(FORMAT) => {}
        other => return Err(broken(format!("format is {}, this version reads {FORMAT}", other.unwrap_or("missing")))),
    }
    let batch = reader.next().ok_or_else(|| broken("it holds no rows".into()))?;
    batch.map_err(|error| broken(error.to_string()))
}
