//! A micro-batch restores, changes and writes the runs of its keys and those in which a window
//! closes or leaves: the rows and the state are those of an operator that has all windows.

use std::sync::{Arc, LazyLock};

use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::limits::Limits;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use crate::state::source_time::SourceTime;
use arrow_array::{Int64Array, RecordBatch};
use proptest::prelude::*;

use crate::record::tests::operator_batches::{
    CUT, DYNAMIC, ENDS, Event, Row, SESSIONS, SLIDING, batch, event, operator, rows, spec,
};
use crate::shard::tests::shard_stream::{Pages, apply};

/// Keys that begin alike, and the empty one.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let keys = (0..64).map(|number| match number {
        0 => String::new(),
        1..32 => format!("key {number:02}"),
        _ => format!("key {:02}{}", number / 4, "!".repeat(number % 4)),
    });
    keys.map(|key| &*key.leak()).collect()
});

/// A stream of micro-batches, each pushed to a new operator that has the runs it touches.
pub(crate) struct Stream {
    spec: Spec,
    limits: Limits,
    /// Has all windows all the time.
    reference: Operator,
    pub(crate) pages: Pages,
    /// The pages that the last micro-batch has read, and how many it has written.
    pub(crate) read: Vec<String>,
    pub(crate) written: usize,
}

pub(crate) fn time(time: i64) -> SourceTime {
    SourceTime {
        input: 0,
        source: Source(0),
        time: Time(time),
    }
}

/// An operator with other limits, which never change results.
fn limited(spec: &Spec, limits: Limits) -> Operator {
    let mut operator = operator(spec);
    Arc::get_mut(&mut operator.state.query).unwrap().limits = limits;
    operator
}

impl Stream {
    fn new(spec: Spec, page_bytes: usize) -> Self {
        let limits = Limits {
            page_bytes,
            ..Limits::default()
        };
        Self {
            reference: limited(&spec, limits),
            spec,
            limits,
            pages: Pages::new(),
            read: Vec::new(),
            written: 0,
        }
    }

    pub(crate) fn operator(&self) -> Operator {
        limited(&self.spec, self.limits)
    }

    /// An operator with all of these pages.
    pub(crate) fn restored(&self, pages: &Pages) -> Operator {
        let mut again = self.operator();
        let pages: Vec<&[u8]> = pages.values().map(Vec::as_slice).collect();
        again.restore(&pages).unwrap();
        again
    }

    /// An operator with what a micro-batch touches.
    fn touched(
        &self,
        records: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> (Operator, Vec<String>) {
        let mut operator = self.operator();
        let Some(head) = self.pages.get("head") else {
            return (operator, Vec::new());
        };
        let keys = records.project(&[0]).unwrap();
        let names = operator.touched(head, &keys, times, progress).unwrap();
        let names = names.expect("the state is this operator's own");
        let pages = [vec![head.as_slice()], self.named(&names)].concat();
        let more = operator.restore_touched(&pages).unwrap();
        if !more.is_empty() {
            operator.restore_touched(&self.named(&more)).unwrap();
        }
        (operator, [names, more].concat())
    }

    /// The pages with these names.
    pub(crate) fn named(&self, names: &[String]) -> Vec<&[u8]> {
        let pages = names.iter().map(|name| self.pages[name].as_slice());
        pages.collect()
    }

    /// The rows of the reference, and those of a new operator.
    pub(crate) fn push(
        &mut self,
        records: &[Event],
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> (Vec<Row>, Vec<Row>) {
        let records = batch(records);
        let wanted = self.reference.push_micro_batch(&records, times, progress);
        let (mut operator, read) = self.touched(&records, times, progress);
        let found = operator.push_micro_batch(&records, times, progress);
        let changed = operator.changed_pages().unwrap();
        self.written = changed.len() - 1;
        apply(&mut self.pages, changed);
        self.read = read;
        let (own, reference) = (&operator, &self.reference);
        assert_eq!(own.counters(), reference.counters());
        assert_eq!(own.windows_open(), reference.windows_open());
        assert_eq!(own.stream_time(), reference.stream_time());
        (rows(&wanted.unwrap()), rows(&found.unwrap()))
    }

    /// The whole state, from the reference and from the pages.
    pub(crate) fn states(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let again = self.restored(&self.pages);
        (self.reference.pages().unwrap(), again.pages().unwrap())
    }
}

/// The largest time so far of each input at each row.
fn times_of(records: &[Event], inputs: i64) -> RecordBatch {
    let columns = (0..inputs).map(|input| {
        let mut latest = None;
        let times = records.iter().map(|row| {
            if row.key.is_some() && (inputs == 1 || row.input == input) {
                latest = latest.max(row.time);
            }
            latest
        });
        let times: Int64Array = times.collect();
        (input.to_string(), Arc::new(times) as _, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn queries() -> impl Strategy<Value = (Spec, i64)> {
    let kinds = prop::sample::select(vec![SESSIONS, DYNAMIC, SLIDING, CUT]);
    let emissions = prop::sample::select(vec![
        r#","emit":"update","op":true"#,
        r#","emit":"update","every":12,"op":true"#,
        r#","emit":"update","every_record":true,"op":true"#,
        r#","late":"emit","op":true"#,
        "",
    ]);
    let until = prop::sample::select(vec!["", r#","until":36"#, r#","until":90"#]);
    let inputs = prop::sample::select(vec![1, 2]);
    let ends = any::<bool>();
    (kinds, emissions, until, inputs, ends).prop_map(|(kind, emission, until, inputs, ends)| {
        let is_refused = kind == CUT && emission.contains("update");
        let emission = if is_refused { "" } else { emission };
        let mut more = format!(r#","grace":15{emission}{until}"#);
        if inputs == 2 {
            more += r#","inputs":{"column":"input","count":2}"#;
        }
        if ends && kind != SLIDING {
            more += ENDS;
        }
        (spec(kind, &more), inputs)
    })
}

fn records() -> impl Strategy<Value = Vec<Event>> {
    let key = prop_oneof![12 => prop::sample::select(KEYS.clone()).prop_map(Some), 1 => Just(None)];
    let row = (
        key,
        prop::option::weighted(0.95, 0..40_i64),
        1..30_i64,
        0..2_i64,
    );
    let row = row.prop_map(|(key, back, gap, input)| Event {
        key,
        time: back.map(|back| -back / 2),
        gap: Some(gap),
        input,
        ..event("", 0, gap / 9)
    });
    prop::collection::vec(row, 1..250)
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(24))]

    #[test]
    fn differential_what_is_touched_is_enough(
        (spec, inputs) in queries(),
        records in records(),
        cuts in prop::collection::vec((0..25_usize, prop::option::weighted(0.3, 0..60_i64), 0..2_u32), 1..60),
        pace in 1..8_i64,
        in_order in any::<bool>(),
        page_bytes in prop_oneof![Just(1_usize), 200..3_000_usize],
    ) {
        let every = spec.every_record;
        let mut stream = Stream::new(spec, page_bytes);
        let records = (0..).zip(records).map(|(nth, row)| Event {
            time: row.time.map(|time| time + nth * pace / 8),
            ..row
        });
        let records: Vec<Event> = records.collect();
        let mut rest = records.as_slice();
        for (size, tick, source) in cuts.into_iter().cycle().take(100) {
            let (own, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            let times = (every || in_order).then(|| times_of(own, inputs));
            let seen = own.iter().filter(|row| row.key.is_some());
            let seen = seen.filter_map(|row| {
                Some(SourceTime {
                    input: if inputs == 1 { 0 } else { row.input as usize },
                    source: Source(source),
                    time: Time(row.time?),
                })
            });
            let mut progress: Vec<SourceTime> = seen.collect();
            progress.extend(tick.map(|later| time(later + (records.len() - rest.len()) as i64)));
            let (wanted, found) = stream.push(own, times.as_ref(), &progress);
            prop_assert_eq!(wanted, found);
            let (wanted, found) = stream.states();
            prop_assert_eq!(wanted, found, "the same state");
            if rest.is_empty() {
                break;
            }
        }
    }
}

/// Many keys that differ soon.
pub(crate) static MANY: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let keys = (0..600).map(|number| format!("user-{number:03}"));
    keys.map(|key| &*key.leak()).collect()
});

/// A window of each of many keys, in pages of about fifty; a record each at a time.
pub(crate) fn filled(windows: &str, more: &str, at: i64) -> (Stream, usize) {
    let mut stream = Stream::new(spec(windows, &format!(r#","grace":15{more}"#)), 6 << 10);
    let records: Vec<Event> = MANY.iter().map(|key| event(key, at, 1)).collect();
    stream.push(&records, None, &[time(at)]);
    let pages = stream.pages.len() - 1;
    assert!(pages > 6, "{pages} pages");
    (stream, pages)
}

#[test]
fn a_record_reads_and_writes_the_runs_of_its_key() {
    for windows in [SESSIONS, DYNAMIC, SLIDING, CUT] {
        for key in ["", "user-000", "user-300", "user-3005", "zz"] {
            let (mut stream, pages) = filled(windows, "", 100);
            let (wanted, found) = stream.push(&[event(key, 101, 1)], None, &[time(101)]);
            assert_eq!(wanted, found);
            assert!(stream.read.len() <= 2, "{key}: {:?}", stream.read);
            assert!(stream.written <= 3, "{key}: {} of {pages}", stream.written);
            let (wanted, found) = stream.states();
            assert_eq!(wanted, found);
        }
    }
}

#[test]
fn nothing_is_read_before_something_closes() {
    // Sessions of 100 with a gap of 10 are due before 111; with a grace of 15 at 126.
    for (at, is_read) in [(125, false), (126, true)] {
        let (mut stream, pages) = filled(SESSIONS, "", 100);
        let (wanted, found) = stream.push(&[], None, &[time(at)]);
        assert_eq!(wanted, found);
        assert_eq!(found.is_empty(), !is_read, "{at}");
        let all = if is_read { pages } else { 0 };
        assert_eq!((stream.read.len(), stream.written), (all, all), "{at}");
    }
}

#[test]
fn what_closes_and_stays_is_read_again_when_it_leaves() {
    // Closed at 126, and kept as long as 100 is later than time less 60.
    let (mut stream, pages) = filled(SESSIONS, r#","until":60"#, 100);
    for (at, read, written) in [
        (126, pages, 0),
        (159, 0, 0),
        (160, pages, pages),
        (161, 0, 0),
    ] {
        let (wanted, found) = stream.push(&[], None, &[time(at)]);
        assert_eq!(wanted, found);
        assert_eq!((stream.read.len(), stream.written), (read, written), "{at}");
        let (wanted, found) = stream.states();
        assert_eq!(wanted, found, "{at}");
    }
    assert_eq!(stream.pages.len(), 1, "nothing is left but the head");
}

#[test]
fn a_key_without_bytes_is_written_once() {
    // In one segment it loses a window and has another one, and the numbers of half of the keys
    // become free.
    let mut stream = Stream::new(spec(SLIDING, r#","grace":15"#), 64 << 10);
    let others = (0..)
        .zip(&*MANY)
        .map(|(nth, key)| event(key, 16 + nth % 2, 1));
    let records: Vec<Event> = others.chain([event("", 16, 1), event("", 17, 1)]).collect();
    for (records, at) in [(records.as_slice(), 17), (&[], 52)] {
        let (wanted, found) = stream.push(records, None, &[time(at)]);
        assert_eq!(wanted, found, "{at}");
        let (wanted, found) = stream.states();
        assert_eq!(wanted, found, "{at}");
    }
}

#[test]
fn an_operator_with_what_is_touched_takes_this_micro_batch_and_nothing_else() {
    let (stream, _) = filled(SESSIONS, "", 100);
    let records = batch(&[event("user-300", 101, 1)]);
    let progress = [time(101)];
    let message = |error: crate::core::error::Error| {
        let message = error.to_string();
        assert!(
            message.contains("that one micro-batch touches"),
            "{message}"
        );
    };
    let (mut operator, _) = stream.touched(&records, None, &progress);
    message(operator.changed_pages().unwrap_err());
    for _ in 0..2 {
        message(operator.pages().unwrap_err());
        message(operator.push(&records).unwrap_err());
        message(operator.finish().unwrap_err());
        let all = StoreQuery::Due {
            from: Time::MIN,
            to: Time::MAX,
        };
        let selected = operator.select(all, &(None, None), false);
        message(selected.unwrap_err());
        let _ = operator.push_micro_batch(&records, None, &progress);
    }
    let again = operator.push_micro_batch(&records, None, &progress);
    message(again.unwrap_err());
    operator.changed_pages().unwrap();
}

#[test]
fn another_micro_batch_than_the_one_asked_for_writes_no_page() {
    let (stream, _) = filled(SESSIONS, "", 100);
    let needed = batch(&[event("user-300", 101, 1)]);
    for (records, at) in [
        (batch(&[event("user-000", 101, 1)]), 101), // another key
        (needed.clone(), 126),                      // something closes
    ] {
        let (mut operator, _) = stream.touched(&needed, None, &[time(101)]);
        let pushed = operator.push_micro_batch(&records, None, &[time(at)]);
        let written = pushed.and_then(|_| operator.changed_pages());
        assert!(written.is_err(), "{at}");
    }
}

#[test]
fn a_state_of_other_segments_is_needed_as_a_whole() {
    let (stream, _) = filled(DYNAMIC, "", 100);
    let head = stream.pages["head"].as_slice();
    // Grace and late policy may change, and with the grace the length of segments.
    let other = spec(DYNAMIC, r#","grace":15000"#);
    let mut again = operator(&other);
    let keys = batch(&[]).project(&[0]).unwrap();
    assert_eq!(again.touched(head, &keys, None, &[]).unwrap(), None);
    let message = again.restore_touched(&[head]).unwrap_err().to_string();
    assert!(message.contains("needs all pages"), "{message}");
    let mut again = operator(&other);
    let pages: Vec<&[u8]> = stream.pages.values().map(Vec::as_slice).collect();
    again.restore(&pages).unwrap();
    assert_eq!(again.windows_open(), MANY.len() as u64);
}
