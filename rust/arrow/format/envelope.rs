//! A batch of rows as one Arrow IPC stream that any Arrow library opens, and that knows when it is
//! damaged.
//!
//! | part | what it is |
//! |---|---|
//! | schema message | the columns; metadata `windrow.format`, `windrow.checksum`, and what the writer adds |
//! | record batch message | the rows |
//! | end of stream | eight bytes |
//!
//! The checksum is written as `xxh3:` and 16 hexadecimal digits: xxh3-64 over all bytes, the digits
//! read as dots. It is compared before anything is read as Arrow.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::{Error, Result};

/// Version of everything inside.
pub const FORMAT: &str = "1";
const FORMAT_KEY: &str = "windrow.format";
const CHECKSUM_KEY: &str = "windrow.checksum";

const MARK: &[u8] = b"xxh3:";
const BLANK: &[u8] = b"................";
/// How many places that look like a checksum are tried.
const TRIED: usize = 64;

/// What the writer said beside the rows.
pub type Metadata = HashMap<String, String>;

/// Writes the rows of a batch, and metadata beside them.
pub fn seal(batch: &RecordBatch, mut metadata: Metadata) -> Result<Vec<u8>> {
    metadata.insert(FORMAT_KEY.to_owned(), FORMAT.to_owned());
    metadata.insert(
        CHECKSUM_KEY.to_owned(),
        String::from_utf8_lossy(&[MARK, BLANK].concat()).into_owned(),
    );
    let schema = Arc::new(Schema::new_with_metadata(
        batch.schema().fields().clone(),
        metadata,
    ));
    let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?;
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);

    let digits = format!("{:016x}", xxh3_64(&bytes));
    let blank = [MARK, BLANK].concat();
    let place = bytes
        .windows(blank.len())
        .position(|window| window == blank)
        .map(|place| place + MARK.len());
    let place = place.and_then(|place| bytes.get_mut(place..place + BLANK.len()));
    place
        .ok_or(Error::Internal(
            "the place of a checksum is in the metadata",
        ))?
        .copy_from_slice(digits.as_bytes());
    Ok(bytes)
}

/// Reads what `seal` wrote. Damaged bytes, or those of another format, are an error about `what`.
pub fn unseal(what: &'static str, bytes: &[u8]) -> Result<(Metadata, RecordBatch)> {
    let metadata = metadata(what, bytes)?;
    let rows = read(what, || {
        StreamDecoder::new().decode(&mut Buffer::from(bytes))
    })?;
    Ok((
        metadata,
        rows.ok_or_else(|| Error::Format {
            what,
            reason: "it holds no rows".into(),
        })?,
    ))
}

/// Reads only what stands beside the rows.
pub fn metadata(what: &'static str, bytes: &[u8]) -> Result<Metadata> {
    let broken = |reason: String| Error::Format { what, reason };
    if !is_whole(bytes) {
        return Err(broken(
            "its checksum does not match: the bytes are damaged or cut off".into(),
        ));
    }
    let metadata = read(what, || try_schema_from_ipc_buffer(bytes))?.metadata;
    match metadata.get(FORMAT_KEY).map(String::as_str) {
        Some(FORMAT) => Ok(metadata),
        other => Err(broken(format!(
            "format is {}, this version reads {FORMAT}",
            other.unwrap_or("missing")
        ))),
    }
}

/// Reads bytes as Arrow. Its reader goes where the bytes point, and panics where that is outside of
/// them.
fn read<T>(
    what: &'static str,
    read: impl FnOnce() -> std::result::Result<T, ArrowError>,
) -> Result<T> {
    let broken = |reason: String| Error::Format { what, reason };
    let read = catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| broken("its bytes are not Arrow's".into()))?;
    read.map_err(|error| broken(error.to_string()))
}

/// Whether the bytes are those that were sealed.
fn is_whole(bytes: &[u8]) -> bool {
    let marks = bytes
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK)
        .map(|(place, _)| place + MARK.len());
    marks.take(TRIED).any(|place| {
        let split = bytes
            .split_at_checked(place)
            .and_then(|(before, rest)| Some((before, rest.split_at_checked(BLANK.len())?)));
        let Some((before, (digits, after))) = split else {
            return false;
        };
        let mut hash = Xxh3::new();
        hash.update(before);
        hash.update(BLANK);
        hash.update(after);
        format!("{:016x}", hash.digest()).as_bytes() == digits
    })
}
