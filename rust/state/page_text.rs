//! A page as ASCII text with seven bits per character: eight characters for seven bytes.
//!
//! Spark's state server passes a string to Python in one piece, but binary values byte by byte.
//! Reading a page as text takes a quarter of the time (benches/README.md).

use super::page::broken;
use crate::core::error::{Error, Result};

/// Bytes in a group, and characters for it.
const BYTES: usize = 7;
const CHARS: usize = 8;

/// Encodes bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> Result<String> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(BYTES) * CHARS);
    let (groups, rest) = bytes.as_chunks::<BYTES>();
    for group in groups {
        text.extend_from_slice(&spread(group));
    }
    if !rest.is_empty() {
        let mut group = [0; BYTES];
        group
            .iter_mut()
            .zip(rest)
            .for_each(|(to, &from)| *to = from);
        text.extend(spread(&group).iter().take(rest.len() + 1));
    }
    String::from_utf8(text).map_err(|_| Error::Internal("encoded text is not ASCII"))
}

/// Decodes text to bytes.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>> {
    if !text.is_ascii() {
        return Err(broken("its text is not ASCII"));
    }
    let mut bytes = Vec::with_capacity(text.len().div_ceil(CHARS) * BYTES);
    let (groups, rest) = text.as_bytes().as_chunks::<CHARS>();
    for group in groups {
        bytes.extend_from_slice(&gather(group));
    }
    if let Some(length) = rest.len().checked_sub(1) {
        let mut group = [0; CHARS];
        group
            .iter_mut()
            .zip(rest)
            .for_each(|(to, &from)| *to = from);
        let all = gather(&group);
        let (own, padding) = all.split_at(length.min(BYTES));
        if length == 0 || padding.iter().any(|&byte| byte != 0) {
            return Err(broken("its text is cut"));
        }
        bytes.extend_from_slice(own);
    }
    Ok(bytes)
}

/// Splits seven little-endian bytes into eight groups of seven bits.
fn spread(&[a, b, c, d, e, f, g]: &[u8; BYTES]) -> [u8; CHARS] {
    let bits = u64::from_le_bytes([a, b, c, d, e, f, g, 0]);
    let bits = (bits & 0x0fff_ffff) | ((bits << 4) & 0x0fff_ffff_0000_0000);
    let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits << 2) & 0x3fff_0000_3fff_0000);
    let bits = (bits & 0x007f_007f_007f_007f) | ((bits << 1) & 0x7f00_7f00_7f00_7f00);
    bits.to_le_bytes()
}

/// Joins eight ASCII characters into seven bytes.
fn gather(chars: &[u8; CHARS]) -> [u8; BYTES] {
    let bits = u64::from_le_bytes(*chars);
    let bits = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
    let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits & 0x3fff_0000_3fff_0000) >> 2);
    let bits = (bits & 0x0fff_ffff) | ((bits & 0x0fff_ffff_0000_0000) >> 4);
    let [a, b, c, d, e, f, g, _] = bits.to_le_bytes();
    [a, b, c, d, e, f, g]
}
