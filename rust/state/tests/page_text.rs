//! Pages as text.

use crate::core::error::Error;
use crate::state::page_text::{decode, encode};
use proptest::prelude::*;

/// The bits of bytes, lowest first, seven to a character: the last one is filled with zeros.
fn characters(bytes: &[u8]) -> Vec<u8> {
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1))
        .collect();
    let character = |bits: &[u8]| bits.iter().rev().fold(0, |sum, bit| sum << 1 | bit);
    bits.chunks(7).map(character).collect()
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn seven_bits_are_a_character(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let text = encode(&bytes).unwrap();
        prop_assert_eq!(text.as_bytes(), characters(&bytes));
        prop_assert_eq!(decode(&text).unwrap(), bytes);
    }

    #[test]
    fn any_text_is_that_of_its_bytes_or_refused(text in "\\PC{0,40}|[\\x00-\\x7f]{0,40}") {
        match decode(&text) {
            Ok(bytes) => prop_assert_eq!(encode(&bytes).unwrap(), text),
            Err(error) => {
                let is_format = matches!(error, Error::Format { .. });
                prop_assert!(is_format);
            }
        }
    }
}

#[test]
fn a_text_of_no_page_is_refused() {
    let message = |text: &str| decode(text).unwrap_err().to_string();
    assert_eq!(decode("").unwrap(), b"");
    assert_eq!(message("\u{e9}"), "page: its text is not ASCII");
    assert_eq!(message("\0"), "page: its text is cut");
    assert_eq!(message("\0\0\0\0\0\0\0\0\0"), "page: its text is cut");
    assert_eq!(decode("\u{7f}\u{1}").unwrap(), [0xff]);
    assert_eq!(message("\u{7f}\u{2}"), "page: its text is cut");
}
