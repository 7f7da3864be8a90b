//! A micro-batch of sessions that rules end also reads the runs of the keys whose records stop waiting.

use crate::record::tests::operator_batches::{batch, fed};
use crate::record::tests::touched_runs::{Stream, filled, time};

/// Sessions of a gap of 500, which end where `x` changes, and a micro-batch of the key alone. The
/// records of 100 have been joined, and the one of the key waits.
fn joined(key: &'static str) -> (Stream, usize) {
    let windows = r#"{"kind":"session","gap":500,"cut_on":["x"]}"#;
    let (mut stream, _) = filled(windows, "", 100);
    stream.push(&[fed(key, 117, 1)], None, &[time(117)]);
    let pages = stream.pages.len() - 1;
    assert!(pages > 6, "{pages} pages");
    (stream, pages)
}

#[test]
fn a_record_that_stops_waiting_reads_and_writes_the_runs_of_its_key() {
    // With a grace of 15, the record of 117 waits up to 132.
    for (at, waits) in [(132, true), (133, false)] {
        for key in ["", "user-000", "user-300", "user-3005", "zz"] {
            let (mut stream, pages) = joined(key);
            let (wanted, found) = stream.push(&[fed("user-450", at, 1)], None, &[time(at)]);
            assert_eq!(wanted, found);
            // The run of waiting records, and that of the other key. Then that of the session.
            let read = if waits { 2 } else { 3 };
            assert!(stream.read.len() <= read, "{key}: {:?}", stream.read);
            assert!(stream.written <= 5, "{key}: {} of {pages}", stream.written);
            let (wanted, found) = stream.states();
            assert_eq!(wanted, found);
        }
    }
}

#[test]
fn a_micro_batch_needs_all_pages_that_the_restored_ones_name() {
    let (stream, _) = joined("user-300");
    let (records, progress) = (batch(&[]), [time(133)]);
    let head = stream.pages["head"].as_slice();
    let restored = || {
        let mut operator = stream.operator();
        let keys = records.project(&[0]).unwrap();
        let due = operator.touched(head, &keys, None, &progress).unwrap();
        let pages = [vec![head], stream.named(&due.unwrap())].concat();
        let more = operator.restore_touched(&pages).unwrap();
        assert_eq!(more.len(), 1, "the session of the key");
        (operator, more)
    };
    let (mut operator, more) = restored();
    let pushed = operator.push_micro_batch(&records, None, &progress);
    let told = pushed.unwrap_err().to_string();
    assert!(told.contains("lacks pages"), "{told}");
    operator.restore_touched(&stream.named(&more)).unwrap();
    operator
        .push_micro_batch(&records, None, &progress)
        .unwrap();

    let (mut operator, more) = restored();
    let told = operator.restore_touched(&[]).unwrap_err().to_string();
    assert!(told.contains("missing"), "{told}");
    let again = operator.restore_touched(&stream.named(&more));
    assert!(again.is_err(), "a failed restore");
}
