//! State pages: what was saved is restored, what is damaged is refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use windrow::arrow::format::page::{Label, PageKind};
use windrow::arrow::plan::spec::Spec;
use windrow::arrow::stream::operator::Operator;

use crate::feeds::{DYNAMIC, Fed, Row, SESSIONS, SLIDING, batch, fed, feeds, operator, rows, spec};

const UPDATES: &str = r#","grace":15,"emit":"update","every_record":true,"op":true"#;
const CLOSES: &str = r#","grace":15,"late":"emit","op":true"#;

fn pushed(operator: &mut Operator, records: &[Fed]) -> Vec<Row> {
    rows(&operator.push(&batch(records)).unwrap())
}

fn restored(spec: &Spec, pages: &[Vec<u8>]) -> Operator {
    let mut again = operator(spec);
    again
        .restore(&pages.iter().map(Vec::as_slice).collect::<Vec<_>>())
        .unwrap();
    again
}

fn refusal(spec: &Spec, pages: &[&[u8]]) -> String {
    operator(spec).restore(pages).unwrap_err().to_string()
}

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

/// An operator of sessions that has seen records, and its pages.
fn saved() -> (Spec, Vec<Vec<u8>>) {
    let spec = spec(SESSIONS, UPDATES);
    let mut operator = operator(&spec);
    pushed(
        &mut operator,
        &[
            fed("a", 1, 3),
            fed("b", 40, 4),
            fed("a", 45, 5),
            fed("ab", 47, 6),
        ],
    );
    let pages = operator.pages().unwrap();
    assert!(pages.len() > 1);
    (spec, pages)
}

fn queries() -> impl Strategy<Value = Spec> {
    let kinds = prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING]);
    let inputs = prop::sample::select(vec!["", r#","inputs":{"column":"input","count":2}"#]);
    (kinds, prop::sample::select(vec![UPDATES, CLOSES]), inputs)
        .prop_map(|(kind, emission, inputs)| spec(kind, &(emission.to_owned() + inputs)))
}

proptest! {
    #![proptest_config(crate::cases::usually(256))]

    #[test]
    fn an_operator_goes_on_from_its_pages(spec in queries(), records in feeds(60), cuts in prop::collection::vec(0..60_usize, 0..6)) {
        let mut whole = operator(&spec);
        let mut cut = operator(&spec);
        for (nth, record) in records.iter().enumerate() {
            if cuts.contains(&nth) {
                let pages = cut.pages().unwrap();
                cut = restored(&spec, &pages);
                prop_assert_eq!(cut.pages().unwrap(), pages, "a restored operator has the same pages");
                prop_assert_eq!(cut.counters(), whole.counters());
                prop_assert_eq!(cut.windows_open(), whole.windows_open());
                prop_assert_eq!(cut.stream_time(), whole.stream_time());
            }
            prop_assert_eq!(pushed(&mut cut, std::slice::from_ref(record)), pushed(&mut whole, std::slice::from_ref(record)));
        }
        prop_assert_eq!(rows(&cut.finish().unwrap()), rows(&whole.finish().unwrap()));
    }

    #[test]
    fn changed_pages_keep_a_saved_state_true(spec in queries(), records in feeds(60), cuts in prop::collection::vec(0..60_usize, 1..6)) {
        let mut whole = operator(&spec);
        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (nth, record) in records.iter().enumerate() {
            pushed(&mut whole, std::slice::from_ref(record));
            if !cuts.contains(&nth) {
                continue;
            }
            for (name, page) in whole.changes().unwrap() {
                match page {
                    Some(page) => drop(kept.insert(name, page)),
                    None => prop_assert!(kept.remove(&name).is_some(), "only what is there is dropped"),
                }
            }
            let mut again = restored(&spec, &kept.values().cloned().collect::<Vec<_>>());
            let changed = again.changes().unwrap();
            prop_assert_eq!(changed.len(), 1, "nothing but the head differs from what was restored");
            // What is hidden stays in pages that have not changed, and is seen by nobody.
            prop_assert_eq!(rows(&again.finish().unwrap()), rows(&restored(&spec, &whole.pages().unwrap()).finish().unwrap()));
        }
    }

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
fn a_label_tells_what_lies_in_a_page() {
    let (_, pages) = saved();
    let labels: Vec<Label> = pages
        .iter()
        .map(|page| Label::read(page).unwrap())
        .collect();
    assert_eq!(labels[0].form, PageKind::Head);
    let bounds: Vec<_> = labels[1..]
        .iter()
        .map(|label| (label.place().unwrap(), label.bounds().unwrap()))
        .collect();
    for (place, bounds) in &bounds {
        assert!(
            bounds.keys.0 <= bounds.keys.1 && bounds.times.0 <= bounds.times.1,
            "{place}: {bounds:?}"
        );
    }
    let keys: Vec<&[u8]> = bounds
        .iter()
        .flat_map(|(_, bounds)| [bounds.keys.0.as_slice(), &bounds.keys.1])
        .collect();
    assert!(
        keys.contains(&b"a".as_slice()) && keys.contains(&b"b".as_slice()),
        "{keys:?}"
    );
}

#[test]
fn a_long_segment_is_cut_into_pages() {
    let spec = spec(SLIDING, UPDATES);
    let mut operator = operator(&spec);
    let records: Vec<Fed> = (0..4000)
        .map(|nth| fed(["a", "b", "ab"][nth % 3], 1 + nth as i64 / 100, 1))
        .collect();
    pushed(&mut operator, &records);
    let pages = operator.pages().unwrap();
    let longest = pages.iter().map(Vec::len).max().unwrap();
    assert!(
        pages.len() > 3 && longest < 200_000,
        "{} pages, the longest of {longest} bytes",
        pages.len()
    );
    assert_eq!(restored(&spec, &pages).pages().unwrap(), pages);
}

#[test]
fn another_query_is_refused_by_what_differs() {
    let (_, pages) = saved();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let told = refusal(&spec(r#"{"kind":"session","gap":11}"#, UPDATES), &pages);
    assert!(
        told.contains("another specification: windows was")
            && told.contains("\"gap\":10")
            && told.contains("\"gap\":11"),
        "{told}"
    );
}

#[test]
fn grace_and_late_policy_may_change() {
    let (_, pages) = saved();
    let other = spec(
        SESSIONS,
        r#","grace":900,"late":"emit","emit":"update","every_record":true,"op":true"#,
    );
    let mut again = restored(&other, &pages);
    let changed: Vec<String> = again
        .changes()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        changed.len() > 1,
        "segments of another length are written anew: {changed:?}"
    );
    // T is 47 and was judged with a grace of 15: what was closed stays closed.
    let late = pushed(&mut again, &[fed("c", 21, 1)]);
    assert_eq!(late[0].4, "late");
}

#[test]
fn late_rows_may_come_and_go_where_windows_close() {
    let with = spec(
        SESSIONS,
        r#","grace":0,"late":"emit","emit":"close","op":true"#,
    );
    let without = spec(
        SESSIONS,
        r#","grace":0,"late":"drop","emit":"close","op":false"#,
    );
    for (before, after) in [(&with, &without), (&without, &with)] {
        let mut first = operator(before);
        pushed(&mut first, &[fed("a", 0, 1)]);
        let closed = pushed(
            &mut restored(after, &first.pages().unwrap()),
            &[fed("b", 50, 1)],
        );
        assert_eq!(
            closed.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["a"]
        );
    }
}

#[test]
fn a_smaller_grace_closes_more_at_once() {
    let shorter = |grace: u32| {
        spec(
            SESSIONS,
            &format!(r#","grace":{grace},"emit":"close","op":true"#),
        )
    };
    let mut operator = operator(&shorter(100));
    assert_eq!(
        pushed(&mut operator, &[fed("a", 0, 1), fed("b", 50, 2)]),
        []
    );
    let pages = operator.pages().unwrap();
    // T is 50 and the gap 10: with a grace of 40, what reaches 10 is still open.
    assert_eq!(
        pushed(&mut restored(&shorter(40), &pages), &[fed("c", 50, 3)]),
        []
    );
    let closed = pushed(&mut restored(&shorter(39), &pages), &[fed("c", 50, 3)]);
    assert_eq!(
        closed.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
        ["a"]
    );
    let mut again = restored(&shorter(0), &pages);
    pushed(&mut again, &[fed("d", 39, 1), fed("d", 40, 1)]);
    assert_eq!(again.counters().late, 1, "39 reaches 49, before T");
}

#[test]
fn what_a_smaller_grace_closes_is_final_once_wherever_it_is_saved() {
    for windows in [SESSIONS, SLIDING] {
        let of = |grace: u32| {
            spec(
                windows,
                &format!(r#","grace":{grace},"emit":"close","op":true"#),
            )
        };
        let mut long = operator(&of(100));
        pushed(&mut long, &[fed("a", 0, 1), fed("b", 50, 2)]);
        let mut again = restored(&of(0), &long.pages().unwrap());
        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (name, page) in again.changes().unwrap() {
            drop(page.map(|page| kept.insert(name, page)));
        }
        let saved = [
            again.pages().unwrap(),
            kept.into_values().collect(),
            long.pages().unwrap(),
        ];
        for pages in saved.iter().filter(|pages| pages.len() > 1) {
            // A row without a key changes nothing, but its batch begins with what is due.
            let closed = pushed(
                &mut restored(&of(0), pages),
                &[Fed {
                    key: None,
                    ..fed("a", 0, 0)
                }],
            );
            assert_eq!(
                closed.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
                ["a"],
                "{windows}"
            );
            let mut ended = restored(&of(0), pages);
            let finals: Vec<String> = rows(&ended.finish().unwrap())
                .into_iter()
                .map(|row| row.0)
                .collect();
            assert_eq!(finals, ["a", "b"], "{windows}");
        }
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
    // The value stands before or after its name, as a string of length one.
    let digit = (name.saturating_sub(40)..name + 40)
        .find(|&at| later[at..at + 5] == [1, 0, 0, 0, b'1'])
        .unwrap()
        + 4;
    later[digit] = b'2';
    let mark = blank(&mut later);
    let digits = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&later));
    later[mark..mark + 16].copy_from_slice(digits.as_bytes());
    let told = refusal(&spec, &[&later, &pages[1]]);
    assert!(told.contains("format is 2, this version reads 1"), "{told}");
}

fn vectors(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(version)
}

/// Kind of windows, and the records whose state was saved.
fn fixtures() -> [(&'static str, &'static str, Vec<Fed>); 3] {
    let records = vec![
        fed("a", 100, 1),
        fed("b", 104, 2),
        Fed {
            value: None,
            ..fed("a", 107, 0)
        },
        fed("ab", 112, -3),
        Fed {
            key: None,
            ..fed("", 113, 0)
        },
        Fed {
            tick: true,
            ..fed("", 114, 0)
        },
        fed("", 109, 4),
        fed("a", 80, 5),
    ];
    [
        ("sessions", SESSIONS, records.clone()),
        ("dynamic", DYNAMIC, records.clone()),
        ("sliding", SLIDING, records),
    ]
}

/// Writes the pages of this version. For a new version, once: call it from the test below with a
/// new folder's name.
#[expect(dead_code, reason = "called by hand, once for each version")]
fn write_vectors(version: &str) {
    for (name, windows, records) in fixtures() {
        let mut operator = operator(&spec(windows, CLOSES));
        pushed(&mut operator, &records);
        let folder = vectors(version).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (nth, page) in operator.pages().unwrap().iter().enumerate() {
            std::fs::write(folder.join(format!("{nth}.arrows")), page).unwrap();
        }
    }
}

#[test]
fn pages_of_the_first_version_stay_readable() {
    for (name, windows, records) in fixtures() {
        let files = std::fs::read_dir(vectors("pages-1").join(name)).unwrap();
        let pages: Vec<Vec<u8>> = files
            .map(|file| std::fs::read(file.unwrap().path()).unwrap())
            .collect();
        assert!(pages.len() > 1, "{name}");
        let spec = spec(windows, CLOSES);
        let mut fresh = operator(&spec);
        pushed(&mut fresh, &records);
        let mut again = restored(&spec, &pages);
        assert_eq!(again.counters(), fresh.counters(), "{name}");
        assert_eq!(
            rows(&again.finish().unwrap()),
            rows(&fresh.finish().unwrap()),
            "{name}"
        );
    }
}
