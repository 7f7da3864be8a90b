//! A block: partial results of one shard as one Arrow IPC stream, which any Arrow library opens.
//!
//! | part | what it is |
//! |---|---|
//! | schema message | the columns; metadata `windrow.format`, `windrow.checksum` |
//! | record batch message | the rows |
//! | end of stream | eight bytes |
//!
//! The checksum is xxh3-64 over everything behind the schema message, as 16 hexadecimal digits.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// Version of everything inside a block.
pub const FORMAT: &str = "1";
const FORMAT_KEY: &str = "windrow.format";
const CHECKSUM_KEY: &str = "windrow.checksum";

/// Writes the rows of a batch.
pub fn encode(batch: &RecordBatch) -> Result<Vec<u8>> {
    let schema = batch.schema();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
    let header = writer.get_ref().len();
    writer.write(batch)?;
    writer.finish()?;
    drop(writer);
    let body = bytes.get(header..).unwrap_or_default();

    let checksum = format!("{:016x}", xxh3_64(body));
    let metadata = HashMap::from([(FORMAT_KEY.to_owned(), FORMAT.to_owned()), (CHECKSUM_KEY.to_owned(), checksum)]);
    let mut block = Vec::new();
    StreamWriter::try_new(&mut block, &with_metadata(&schema, metadata))?;
    block.extend_from_slice(body);
    Ok(block)
}

fn with_metadata(schema: &SchemaRef, metadata: HashMap<String, String>) -> Arc<Schema> {
    Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata))
}

/// Reads a block. Damaged bytes, or those of another format, are an error.
pub fn decode(bytes: &[u8]) -> Result<RecordBatch> {
    let broken = |reason: String| Error::Format { what: "block", reason };
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(|error| broken(error.to_string()))?;
    let metadata = reader.schema().metadata().clone();
    match metadata.get(FORMAT_KEY).map(String::as_str) {
        Some(FORMAT) => {}
        other => return Err(broken(format!("format is {}, this version reads {FORMAT}", other.unwrap_or("missing")))),
    }
    let body = bytes.get(reader.get_ref().position() as usize..).unwrap_or_default();
    let checksum = format!("{:016x}", xxh3_64(body));
    if metadata.get(CHECKSUM_KEY) != Some(&checksum) {
        return Err(broken("its checksum does not match: the bytes are damaged or cut off".into()));
    }
    let batch = reader.next().ok_or_else(|| broken("it holds no rows".into()))?;
    batch.map_err(|error| broken(error.to_string()))
}
