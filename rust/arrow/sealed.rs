//! A batch of rows as one Arrow IPC stream that any Arrow library opens, and that knows when it is damaged.
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
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
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
    metadata.insert(CHECKSUM_KEY.to_owned(), String::from_utf8_lossy(&[MARK, BLANK].concat()).into_owned());
    let schema = Arc::new(Schema::new_with_metadata(batch.schema().fields().clone(), metadata));
    let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?;
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);

    let digits = format!("{:016x}", xxh3_64(&bytes));
    let blank = [MARK, BLANK].concat();
    let place = bytes.windows(blank.len()).position(|window| window == blank).map(|place| place + MARK.len());
    let place = place.and_then(|place| bytes.get_mut(place..place + BLANK.len()));
    place.ok_or(Error::Internal("the place of a checksum is in the metadata"))?.copy_from_slice(digits.as_bytes());
    Ok(bytes)
}

/// Reads what `seal` wrote. Damaged bytes, or those of another format, are an error about `what`.
pub fn unseal(what: &'static str, bytes: &[u8]) -> Result<(Metadata, RecordBatch)> {
    let broken = |reason: String| Error::Format { what, reason };
    let mut reader = open(what, bytes)?;
    let metadata = reader.schema().metadata().clone();
    let batch = reader.next().ok_or_else(|| broken("it holds no rows".into()))?;
    Ok((metadata, batch.map_err(|error| broken(error.to_string()))?))
}

/// Reads only what stands beside the rows.
pub fn metadata(what: &'static str, bytes: &[u8]) -> Result<Metadata> {
    Ok(open(what, bytes)?.schema().metadata().clone())
}

fn open<'a>(what: &'static str, bytes: &'a [u8]) -> Result<StreamReader<Cursor<&'a [u8]>>> {
    let broken = |reason: String| Error::Format { what, reason };
    if !is_whole(bytes) {
        return Err(broken("its checksum does not match: the bytes are damaged or cut off".into()));
    }
    let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(|error| broken(error.to_string()))?;
    match reader.schema().metadata().get(FORMAT_KEY).map(String::as_str) {
        Some(FORMAT) => Ok(reader),
        other => Err(broken(format!("format is {}, this version reads {FORMAT}", other.unwrap_or("missing")))),
    }
}

/// Whether the bytes are those that were sealed.
fn is_whole(bytes: &[u8]) -> bool {
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK).map(|(place, _)| place + MARK.len());
    marks.take(TRIED).any(|place| {
        let split = bytes.split_at_checked(place).and_then(|(before, rest)| Some((before, rest.split_at_checked(BLANK.len())?)));
        let Some((before, (digits, after))) = split else { return false };
        let mut hash = Xxh3::new();
        hash.update(before);
        hash.update(BLANK);
        hash.update(after);
        format!("{:016x}", hash.digest()).as_bytes() == digits
    })
}
