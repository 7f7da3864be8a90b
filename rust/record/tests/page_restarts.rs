//! Restarts with another grace or late policy.

use std::collections::BTreeMap;

use crate::core::time::Time;
use crate::record::store_query::StoreQuery;

use crate::record::tests::operator_batches::{
    Event, SESSIONS, SLIDING, event, operator, rows, spec,
};
use crate::record::tests::pages::{pushed, restored, saved};
use crate::shard::tests::shard_stream::apply;

#[test]
fn grace_and_late_policy_may_change() {
    let (_, pages) = saved();
    let other = spec(
        SESSIONS,
        r#","grace":900,"late":"emit","emit":"update","every_record":true,"op":true"#,
    );
    let mut again = restored(&other, &pages);
    let changed: Vec<String> = again
        .changed_pages()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        changed.len() > 1,
        "segments of another length are written anew: {changed:?}"
    );
    // T is 47 and was judged with a grace of 15: what was closed stays closed.
    let late = pushed(&mut again, &[event("c", 21, 1)]);
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
        pushed(&mut first, &[event("a", 0, 1)]);
        let closed = pushed(
            &mut restored(after, &first.pages().unwrap()),
            &[event("b", 50, 1)],
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
        pushed(&mut operator, &[event("a", 0, 1), event("b", 50, 2)]),
        []
    );
    let pages = operator.pages().unwrap();
    // T is 50 and the gap 10: with a grace of 40, what reaches 10 is still open.
    assert_eq!(
        pushed(&mut restored(&shorter(40), &pages), &[event("c", 50, 3)]),
        []
    );
    let closed = pushed(&mut restored(&shorter(39), &pages), &[event("c", 50, 3)]);
    assert_eq!(
        closed.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
        ["a"]
    );
    let mut again = restored(&shorter(0), &pages);
    pushed(&mut again, &[event("d", 39, 1), event("d", 40, 1)]);
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
        pushed(&mut long, &[event("a", 0, 1), event("b", 50, 2)]);
        let mut again = restored(&of(0), &long.pages().unwrap());
        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (name, page) in again.changed_pages().unwrap() {
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
                &[Event {
                    key: None,
                    ..event("a", 0, 0)
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
fn what_was_hidden_stays_hidden_with_a_longer_grace_wherever_it_was_saved() {
    // Difference 10, so windows are visible for 31 from their start, and with a grace of 100 for 131:
    //   starts 89 and 91, in one segment of 4        at 120, 90 and later is visible
    let of = |grace: u32| spec(SLIDING, &format!(r#","grace":{grace}"#));
    let mut first = operator(&of(0));
    let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for records in [
        [event("a", 99, 1), event("a", 101, 2)],
        [event("b", 119, 3), event("b", 120, 4)],
    ] {
        pushed(&mut first, &records);
        apply(&mut kept, first.changed_pages().unwrap());
    }
    let starts = |pages: &[Vec<u8>]| -> Vec<(String, i64)> {
        let again = restored(&of(100), pages);
        let all = StoreQuery::Between {
            from: Time::MIN,
            to: Time::MAX,
        };
        let found = rows(&again.select(all, &(None, None), false).unwrap());
        found.into_iter().map(|row| (row.0, row.1)).collect()
    };
    let visible = [("a", 91), ("a", 100), ("b", 109), ("b", 110), ("b", 120)];
    let visible = visible.map(|(key, start)| (key.to_owned(), start));
    assert_eq!(starts(&first.pages().unwrap()), visible, "snapshot");
    assert_eq!(
        starts(&kept.into_values().collect::<Vec<_>>()),
        visible,
        "changed pages"
    );
}
