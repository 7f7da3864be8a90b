//! Pages that are damaged, missing or of another version are refused.

use crate::state::page::Label;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{SESSIONS, batch, fed, operator};
use crate::record::tests::pages::{refusal, saved};
use crate::record::tests::touched_runs::filled;

/// Makes the checksum of a page that of its bytes.
fn resealed(page: &mut [u8]) {
    const MARK: &[u8] = b"xxh3:";
    let Some(place) = page.windows(MARK.len()).position(|window| window == MARK) else {
        return;
    };
    let Some(digits) = page.get_mut(place + MARK.len()..place + MARK.len() + 16) else {
        return;
    };
    digits.fill(b'.');
    let hash = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(page));
    page[place + MARK.len()..place + MARK.len() + 16].copy_from_slice(hash.as_bytes());
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn damage_is_an_error(page in 0..64_usize, at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()) {
        let (spec, pages) = saved();
        let page = page % pages.len();
        let mut damaged = pages.clone();
        let at = at.index(damaged[page].len());
        if cut {
            damaged[page].truncate(at);
        } else {
            damaged[page][at] ^= 1 << bit;
        }
        let told = refusal(&spec, &damaged.iter().map(Vec::as_slice).collect::<Vec<_>>());
        prop_assert!(told.starts_with("page: "), "{told}");
    }

    #[test]
    fn damage_under_a_true_checksum_is_no_panic(page in 0..64_usize, at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..9)) {
        let (spec, mut pages) = saved();
        let page = page % pages.len();
        let at = at.index(pages[page].len() - bytes.len());
        pages[page][at..at + bytes.len()].copy_from_slice(&bytes);
        resealed(&mut pages[page]);
        let _ = Label::read(&pages[page]);
        let mut operator = operator(&spec);
        if operator.restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_ok() {
            let _ = operator.pages();
            let _ = operator.push(&batch(&[fed("a", 44, 1), fed("b", 2000, 2)]));
            let _ = operator.finish();
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_page(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (spec, pages) = saved();
        prop_assert!(refusal(&spec, &[&pages[0], &bytes]).contains("checksum"));
        prop_assert!(Label::read(&bytes).is_err());
    }
}

#[test]
fn a_missing_page_is_noticed() {
    let (spec, pages) = saved();
    let all: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    assert!(refusal(&spec, &all[..all.len() - 1]).contains("missing"));
    assert!(refusal(&spec, &all[1..]).contains("one head"));
    assert!(refusal(&spec, &[all.as_slice(), &[all[1]]].concat()).contains("not of this state"));
}

#[test]
fn another_version_is_refused() {
    let (spec, pages) = saved();
    // A page of a later version: its format is another one, its checksum is right.
    let blank = |bytes: &mut Vec<u8>| {
        let mark = bytes
            .windows(5)
            .position(|window| window == b"xxh3:")
            .unwrap()
            + 5;
        bytes[mark..mark + 16].copy_from_slice(b"................");
        mark
    };
    let mut later = pages[0].clone();
    let name = later
        .windows(14)
        .position(|window| window == b"windrow.format")
        .unwrap();
    // The value is before or after its name, as a string of length one.
    let digit = (name.saturating_sub(40)..name + 40)
        .find(|&at| later[at..at + 5] == [1, 0, 0, 0, b'1'])
        .unwrap()
        + 4;
    later[digit] = b'2';
    let mark = blank(&mut later);
    let digits = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&later));
    later[mark..mark + 16].copy_from_slice(digits.as_bytes());
    let told = refusal(&spec, &[&later, &pages[1]]);
    assert!(
        told.contains("it has format 2, and this version of windrow reads format 1"),
        "{told}"
    );
}

#[test]
fn an_operator_whose_restore_failed_refuses_every_call() {
    let (spec, mut pages) = saved();
    let last = pages.pop().unwrap();
    let missing: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let all: Vec<&[u8]> = missing.iter().copied().chain([last.as_slice()]).collect();
    let mut damaged = operator(&spec);
    assert!(damaged.restore(&missing).is_err());
    let refused =
        "operator: an earlier restore failed halfway: restore a new operator from saved pages";
    assert_eq!(
        damaged
            .push(&batch(&[fed("a", 1, 3)]))
            .unwrap_err()
            .to_string(),
        refused
    );
    assert_eq!(damaged.finish().unwrap_err().to_string(), refused);
    assert_eq!(damaged.pages().unwrap_err().to_string(), refused);
    assert_eq!(damaged.restore(&all).unwrap_err().to_string(), refused);
    let told = damaged.check_restored().unwrap_err().to_string();
    assert_eq!(told, refused);
}

#[test]
fn an_operator_that_has_seen_records_is_not_restored_and_goes_on() {
    let (spec, pages) = saved();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let mut used = operator(&spec);
    used.push(&batch(&[fed("a", 1, 3)])).unwrap();
    let refused = used.restore(&pages).unwrap_err().to_string();
    assert!(refused.contains("cannot be restored"), "{refused}");
    used.push(&batch(&[fed("a", 2, 3)])).unwrap();
}

#[test]
fn damaged_parts_of_a_state_are_told() {
    let (stream, _) = filled(SESSIONS, "", 100);
    let head = stream.pages["head"].as_slice();
    let pages: Vec<&[u8]> = stream.pages.values().map(Vec::as_slice).collect();
    let refused = |pages: &[&[u8]]| stream.operator().restore_touched(pages).unwrap_err();
    assert!(refused(&pages[..2]).to_string().contains("head"), "no head");
    assert!(
        refused(&[head, head]).to_string().contains("one head"),
        "two heads"
    );
    let (other, _) = filled(SESSIONS, "", 5_000);
    let foreign = other.pages.values().next().unwrap();
    let told = refused(&[head, foreign]).to_string();
    assert!(told.contains("not of this state"), "{told}");
    let (first, _) = stream.pages.iter().next().unwrap();
    let page = stream.pages[first].as_slice();
    assert!(
        refused(&[head, page, page])
            .to_string()
            .contains("there twice"),
        "twice"
    );
}
