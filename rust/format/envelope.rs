//! A batch as one Arrow IPC stream, with a checksum that detects damage. Any Arrow library can open
//! it.
//!
//! | part | contents |
//! |---|---|
//! | schema message | the columns; metadata `windrow.format`, `windrow.checksum`, and the entries of the writer |
//! | record batch message | the rows; see `frame_of_reference` for 64-bit integers |
//! | end of stream | eight bytes |
//!
//! The checksum is `xxh3:` and 16 hexadecimal digits. It is the xxh3-64 of all bytes, with dots in
//! place of these digits. A reader compares it before it parses anything but the metadata of the
//! schema.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::Schema;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::compressed::has_true_lengths;
use super::frame_of_reference;
use crate::array::untrusted::read_untrusted;
use crate::core::error::{Error, Result};

/// The version of the whole format. Other versions are refused.
pub(crate) const FORMAT: &str = "1";
const FORMAT_KEY: &str = "windrow.format";
const CHECKSUM_KEY: &str = "windrow.checksum";

const MARK: &[u8] = b"xxh3:";
const BLANK: &[u8] = b"................";
/// The bytes before the schema message: a mark of four bytes, and its length in four more.
const PREFIX: usize = 8;

/// The metadata of the writer.
pub(crate) type Metadata = HashMap<String, String>;

/// Writes a batch with metadata, optionally compressed.
pub(crate) fn seal(
    batch: &RecordBatch,
    mut metadata: Metadata,
    compression: Option<CompressionType>,
) -> Result<Vec<u8>> {
    metadata.insert(FORMAT_KEY.to_owned(), FORMAT.to_owned());
    metadata.insert(
        CHECKSUM_KEY.to_owned(),
        String::from_utf8_lossy(&[MARK, BLANK].concat()).into_owned(),
    );
    let batch = frame_of_reference::encode(batch)?;
    let schema = Schema::new_with_metadata(batch.schema_ref().fields().clone(), metadata);
    let schema = Arc::new(schema);
    let batch = batch.with_schema(Arc::clone(&schema))?;
    let mut bytes = Vec::new();
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options)?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);

    write_checksum(&mut bytes).ok_or(Error::Internal("the metadata has no checksum"))?;
    Ok(bytes)
}

/// Writes the checksum of sealed bytes into its place. `None` if they have no place for it.
pub(crate) fn write_checksum(bytes: &mut [u8]) -> Option<()> {
    let place = digits_of_checksum(bytes)?;
    bytes.get_mut(place.clone())?.copy_from_slice(BLANK);
    let digits = format!("{:016x}", xxh3_64(bytes));
    bytes.get_mut(place)?.copy_from_slice(digits.as_bytes());
    Some(())
}

/// Reads the output of [`seal`].
pub(crate) fn unseal(what: &'static str, bytes: &[u8]) -> Result<(Metadata, RecordBatch)> {
    let metadata = metadata(what, bytes)?;
    if !has_true_lengths(bytes) {
        return Err(Error::Format {
            what,
            reason: "a column is longer than its bytes can be".into(),
        });
    }
    let broken = |reason| Error::Format { what, reason };
    let rows = read_untrusted(|| StreamDecoder::new().decode(&mut Buffer::from(bytes)));
    let rows = rows
        .map_err(broken)?
        .ok_or_else(|| broken("it holds no rows".into()))?;
    Ok((metadata, frame_of_reference::decode(what, &rows)?))
}

/// Reads only the metadata.
pub(crate) fn metadata(what: &'static str, bytes: &[u8]) -> Result<Metadata> {
    let broken = |reason: String| Error::Format { what, reason };
    if !is_whole(bytes) {
        return Err(broken(
            "its checksum does not match: the bytes are damaged or cut off".into(),
        ));
    }
    let schema = read_untrusted(|| try_schema_from_ipc_buffer(bytes));
    let metadata = schema.map_err(broken)?.metadata;
    match metadata.get(FORMAT_KEY).map(String::as_str) {
        Some(FORMAT) => Ok(metadata),
        other => Err(broken(format!(
            "it has format {}, and this version of windrow reads format {FORMAT}",
            other.unwrap_or("none")
        ))),
    }
}

/// The metadata of the writer, without the entries of [`seal`].
pub(super) fn own_metadata(mut metadata: Metadata) -> Metadata {
    metadata.retain(|key, _| key != FORMAT_KEY && key != CHECKSUM_KEY);
    metadata
}

/// Whether the checksum matches the bytes.
fn is_whole(bytes: &[u8]) -> bool {
    let split = digits_of_checksum(bytes).and_then(|range| {
        let (before, rest) = bytes.split_at_checked(range.start)?;
        Some((before, rest.split_at_checked(range.len())?))
    });
    let Some((before, (digits, after))) = split else {
        return false;
    };
    let mut hash = Xxh3::new();
    hash.update(before);
    hash.update(BLANK);
    hash.update(after);
    format!("{:016x}", hash.digest()).as_bytes() == digits
}

/// The range of the checksum's digits. It is found through the metadata of the schema message,
/// because user-defined names and values may also look like a checksum.
fn digits_of_checksum(bytes: &[u8]) -> Option<Range<usize>> {
    let length = bytes.get(PREFIX / 2..PREFIX)?.try_into().ok()?;
    let length = usize::try_from(i32::from_le_bytes(length)).ok()?;
    let message = bytes.get(PREFIX..PREFIX.checked_add(length)?)?;
    let metadata = root_as_message(message)
        .ok()?
        .header_as_schema()?
        .custom_metadata()?;
    let entry = metadata
        .iter()
        .find(|entry| entry.key() == Some(CHECKSUM_KEY))?;
    let value = entry.value()?.as_bytes();
    if !value.starts_with(MARK) || value.len() != MARK.len() + BLANK.len() {
        return None;
    }
    let start = value.as_ptr().addr().checked_sub(bytes.as_ptr().addr())? + MARK.len();
    Some(start..start + BLANK.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, LargeListArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{DataType, Field};

    use super::*;

    /// The aggregates follow the offsets of lists in saved states without a further check.
    #[test]
    fn lists_whose_offsets_go_back_or_leave_their_elements_are_refused() {
        let field = Arc::new(Field::new("item", DataType::Int64, true));
        let offsets = [0_i64, 3, 5];
        let elements = Arc::new(Int64Array::from_iter_values(10..15));
        let lists = LargeListArray::new(
            field,
            OffsetBuffer::new(offsets.to_vec().into()),
            elements,
            None,
        );
        let rows = RecordBatch::try_from_iter([("lists", Arc::new(lists) as ArrayRef)]).unwrap();
        let sealed = seal(&rows, Metadata::new(), None).unwrap();
        assert_eq!(unseal("block", &sealed).unwrap().1.num_rows(), 2);
        let bytes = |offsets: [i64; 3]| offsets.map(i64::to_le_bytes).concat();
        let place = sealed
            .windows(24)
            .position(|some| some == bytes(offsets))
            .unwrap();
        for damaged in [[0, 3, 6], [0, 5, 3], [-1, 3, 5], [0, i64::MAX, 5]] {
            let mut sealed = sealed.clone();
            sealed[place..place + 24].copy_from_slice(&bytes(damaged));
            write_checksum(&mut sealed).unwrap();
            let read = unseal("block", &sealed);
            assert!(
                matches!(read, Err(Error::Format { .. })),
                "{damaged:?}: {read:?}"
            );
        }
    }
}
