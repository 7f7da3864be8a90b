//! An operator that lives on writes the runs of the keys that have changed.

use crate::record::tests::operator_batches::{DYNAMIC, Event, SESSIONS, SLIDING, batch, event};
use crate::record::tests::touched_runs::{filled, time};
use crate::shard::tests::shard_stream::apply;

#[test]
fn an_operator_that_lives_on_writes_the_runs_of_changed_keys() {
    for windows in [SESSIONS, DYNAMIC, SLIDING] {
        let (stream, _) = filled(windows, "", 100);
        let mut living = stream.restored(&stream.pages);
        let mut kept = stream.pages.clone();
        // Thousands of changes are noted no more one by one: the last of them is of another key.
        for (times, most) in [(0, 1), (1, 7), (1, 7), (6_000, usize::MAX)] {
            let mut records: Vec<Event> = (0..times).map(|_| event("user-300", 101, 1)).collect();
            if times > 0 {
                records.push(event("user-599", 101, 1));
            }
            for record in &records {
                let one = batch(std::slice::from_ref(record));
                let pushed = living.push_micro_batch(&one, None, &[time(101)]);
                pushed.unwrap();
            }
            let changed = living.changed_pages().unwrap();
            assert!(changed.len() <= most, "{times}: {}", changed.len());
            apply(&mut kept, changed);
            let found = stream.restored(&kept).pages().unwrap();
            assert_eq!(found, living.pages().unwrap(), "{times}");
        }
    }
}
