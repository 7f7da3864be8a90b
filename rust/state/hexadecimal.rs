//! Converts bytes to hexadecimal digits and back.

use std::fmt::Write;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes two digits per byte.
pub(super) fn write(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Reads pairs of digits. Returns `None` for any other text.
pub(super) fn read(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let ([_, _], true) = (pair, pair.iter().all(u8::is_ascii_hexdigit)) else {
            return None;
        };
        u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
    };
    pairs.map(byte).collect()
}

/// Serializes bytes as a JSON string.
pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&write(bytes))
}

/// Deserializes bytes from a JSON string.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let digits = String::deserialize(from)?;
    read(&digits).ok_or_else(|| D::Error::custom(format!("{digits:?} is not hexadecimal")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_of_digits_are_read() {
        assert_eq!(read(&write(&[0, 0x0f, 0xff])), Some(vec![0, 0x0f, 0xff]));
        for wrong in ["+f", "-1", "f", " f", "0x", "fg"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
