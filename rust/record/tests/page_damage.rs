//! Pages that are damaged, missing or of another version are refused.

use crate::format::envelope::write_checksum;
use crate::state::page::Label;
use proptest::prelude::*;

use crate::record::tests::operator_batches::{SESSIONS, batch, event, operator};
use crate::record::tests::pages::{refusal, saved};
use crate::record::tests::touched_runs::filled;

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
        let message = refusal(&spec, &damaged.iter().map(Vec::as_slice).collect::<Vec<_>>());
        prop_assert!(message.starts_with("page: "), "{message}");
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
    write_checksum(&mut later).unwrap();
    let message = refusal(&spec, &[&later, &pages[1]]);
    assert!(
        message.contains("it has format 2, and this version of windrow reads format 1"),
        "{message}"
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
            .push(&batch(&[event("a", 1, 3)]))
            .unwrap_err()
            .to_string(),
        refused
    );
    assert_eq!(damaged.finish().unwrap_err().to_string(), refused);
    assert_eq!(damaged.pages().unwrap_err().to_string(), refused);
    assert_eq!(damaged.restore(&all).unwrap_err().to_string(), refused);
    let message = damaged.check_restored().unwrap_err().to_string();
    assert_eq!(message, refused);
}

#[test]
fn an_operator_that_has_seen_records_is_not_restored_and_continues() {
    let (spec, pages) = saved();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let mut used = operator(&spec);
    used.push(&batch(&[event("a", 1, 3)])).unwrap();
    let refused = used.restore(&pages).unwrap_err().to_string();
    assert!(refused.contains("cannot be restored"), "{refused}");
    used.push(&batch(&[event("a", 2, 3)])).unwrap();
}

#[test]
fn damaged_parts_of_a_state_are_refused() {
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
    let message = refused(&[head, foreign]).to_string();
    assert!(message.contains("not of this state"), "{message}");
    let (first, _) = stream.pages.iter().next().unwrap();
    let page = stream.pages[first].as_slice();
    assert!(
        refused(&[head, page, page])
            .to_string()
            .contains("appears twice"),
        "twice"
    );
}
