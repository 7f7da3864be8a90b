//! An interrupt stops work on every thread, and its cause is the error.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::core::error::Error;
use crate::core::interrupt::{INTERVAL, Interrupt};
use crate::core::key::KeyId;
use crate::core::sort::SortedRows;
use crate::core::time::Time;
use crate::plan::limits::Limits;
use crate::plan::query::Query;

use crate::batch::tests::query::{Row, batch, query};
use crate::batch::tests::rows::query as rows_query;
use crate::record::tests::operator_batches;

/// An interrupt that gives a cause at the second call, and the number of its calls.
fn second() -> (Interrupt, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let interrupt = Interrupt::new(move || match count.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err("enough".into()),
    });
    (interrupt, calls)
}

#[test]
fn a_source_is_asked_after_each_interval_and_its_cause_is_the_error() {
    let (interrupt, calls) = second();
    let worker = interrupt.for_worker();
    interrupt.check().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0, "too soon");
    thread::sleep(INTERVAL);
    worker.check().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0, "a worker asks nothing");
    interrupt.check().unwrap();
    interrupt.check().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    thread::sleep(INTERVAL);
    let error = interrupt.check().unwrap_err();
    assert_eq!(error.to_string(), "interrupted: enough");
    assert!(matches!(worker.check(), Err(Error::Stopped)));
    assert!(matches!(interrupt.check(), Err(Error::Stopped)));
}

/// Runs a query over batches without end.
fn run_endlessly(query: &Arc<Query>, threads: usize) {
    let mut time = 0;
    let batches = std::iter::repeat_with(|| {
        time += 1;
        let row = |key| Row {
            key: Some(key),
            name: None,
            time: Some(time),
            tick: None,
            value: Some(1),
        };
        Ok(batch(&(0..64).map(row).collect::<Vec<_>>()))
    });
    let (interrupt, calls) = second();
    let error = query.run(batches, threads, &interrupt).unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn an_interrupt_ends_a_run_over_input_without_end() {
    let counts = r#"[{"name": "rows", "function": "count"}]"#;
    let limits = Limits {
        step_rows: 256,
        ..Limits::default()
    };
    for threads in [1, 3] {
        for windows in [
            r#"{"kind": "session", "gap": 5}"#,
            r#"{"kind": "sliding", "difference": 5, "resolution": 1}"#,
        ] {
            run_endlessly(&query(windows, r#"["key"]"#, counts, 4, limits), threads);
        }
        run_endlessly(&rows_query(4, limits), threads);
    }
}

#[test]
fn a_stopped_interrupt_ends_a_sort() {
    let interrupt = Interrupt::never();
    let (keys, times) = ([KeyId(0); 3], [3, 1, 2].map(Time));
    assert!(SortedRows::new(&keys, &times, &interrupt).is_ok());
    interrupt.stop();
    let error = SortedRows::new(&keys, &times, &interrupt).unwrap_err();
    assert!(matches!(error, Error::Stopped));
}

/// Records of one key in a mixed order. Each changes thousands of windows.
#[test]
fn an_interrupt_ends_a_push_and_leaves_an_operator_that_refuses_the_next() {
    let windows = r#"{"kind":"sliding","difference":1000000,"resolution":1}"#;
    let counts = r#"[{"name":"n","function":"count"}]"#;
    let spec =
        operator_batches::spec_of(windows, counts, r#","grace":1000000,"every_record":true"#);
    let records: Vec<_> = (0..60_000)
        .map(|nth| operator_batches::event("a", nth * 7919 % 60_000, 1))
        .collect();
    let (interrupt, calls) = second();
    let mut operator = operator_batches::operator(&spec).with_interrupt(interrupt);
    let error = operator
        .push(&operator_batches::batch(&records))
        .unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let error = operator.push(&operator_batches::batch(&[])).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error}");
}
