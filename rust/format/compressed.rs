//! Checks the declared lengths of compressed buffers in an Arrow IPC stream.

use arrow_ipc::{RecordBatch, root_as_message};

/// The first bytes of an encapsulated message, and the length of these together with the metadata
/// length.
const CONTINUATION: &[u8] = &[0xff; 4];
const PREFIX: usize = 8;

/// The largest number of bytes to which a byte of LZ4 expands.
const LARGEST_RATIO: i64 = 255;

/// Whether no buffer declares a greater length than its compressed bytes can have. Arrow's reader
/// allocates the declared length before it decompresses.
pub(super) fn has_true_lengths(stream: &[u8]) -> bool {
    lengths(stream).is_some()
}

/// `None` if a length is impossible, or the bytes are not a stream of messages.
fn lengths(mut stream: &[u8]) -> Option<()> {
    while !stream.is_empty() {
        let (prefix, rest) = stream.split_at_checked(PREFIX)?;
        let (mark, length) = prefix.split_at_checked(PREFIX / 2)?;
        let length = usize::try_from(i32::from_le_bytes(length.try_into().ok()?)).ok()?;
        if mark != CONTINUATION || length == 0 {
            return (mark == CONTINUATION).then_some(());
        }
        let (metadata, rest) = rest.split_at_checked(length)?;
        let message = root_as_message(metadata).ok()?;
        let (body, rest) = rest.split_at_checked(usize::try_from(message.bodyLength()).ok()?)?;
        if let Some(rows) = message.header_as_record_batch() {
            buffers(rows, body)?;
        }
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            buffers(dictionary.data()?, body)?;
        }
        stream = rest;
    }
    Some(())
}

fn buffers(rows: RecordBatch<'_>, body: &[u8]) -> Option<()> {
    if rows.compression().is_none() {
        return Some(());
    }
    for buffer in rows.buffers()? {
        let start = usize::try_from(buffer.offset()).ok()?;
        let end = start.checked_add(usize::try_from(buffer.length()).ok()?)?;
        let bytes = body.get(start..end)?;
        let Some((length, compressed)) = bytes.split_first_chunk() else {
            continue; // an empty buffer has no length
        };
        let longest = LARGEST_RATIO.checked_mul(compressed.len() as i64)?;
        // -1 marks uncompressed bytes.
        if !(-1..=longest).contains(&i64::from_le_bytes(*length)) {
            return None;
        }
    }
    Some(())
}
