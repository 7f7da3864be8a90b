//! Operators over small Arrow batches, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DurationMicrosecondArray, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::SchemaRef;
use proptest::prelude::*;

/// Key, time, value, gap, tick.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) key: Option<&'static str>,
    pub(crate) time: Option<i64>,
    pub(crate) value: Option<i64>,
    pub(crate) gap: Option<i64>,
    pub(crate) tick: bool,
    pub(crate) input: i64,
}

impl Event {
    /// Its end, which follows from its time. Some records have none, and some end too early.
    pub(crate) fn end(&self) -> Option<i64> {
        let time = self.time.filter(|time| time % 13 != 0)?;
        Some(time.saturating_add(time.wrapping_mul(7).rem_euclid(41) - 3))
    }

    /// Whether it does not end before its time.
    pub(crate) fn ends_well(&self) -> bool {
        self.end().is_some_and(|end| Some(end) >= self.time)
    }
}

/// A record of a key at a time.
pub(crate) fn event(key: &'static str, time: i64, value: i64) -> Event {
    Event {
        key: Some(key),
        time: Some(time),
        value: Some(value),
        gap: Some(5),
        tick: false,
        input: 0,
    }
}

/// Records of a few keys with ties, nulls, ticks and records far behind.
pub(crate) fn events(longest: usize) -> impl Strategy<Value = Vec<Event>> {
    let key = prop_oneof![9 => prop::sample::select(vec!["", "a", "ab", "b"]).prop_map(Some), 1 => Just(None)];
    let time = prop_oneof![9 => (0..400_i64).prop_map(Some), 1 => Just(None)];
    let gap = prop_oneof![8 => (1..30_i64).prop_map(Some), 1 => Just(None), 1 => Just(Some(-1))];
    let row = (
        key,
        time,
        prop::option::of(-9..9_i64),
        gap,
        prop::bool::weighted(0.05),
        0..2_i64,
    );
    let event = row.prop_map(|(key, time, value, gap, tick, input)| Event {
        key,
        time,
        value,
        gap,
        tick,
        input,
    });
    // Times move on, with jumps back.
    prop::collection::vec(event, 0..longest).prop_map(|rows| {
        let moved = |(nth, row): (usize, Event)| Event {
            time: row.time.map(|time| time / 4 + nth as i64 * 6),
            ..row
        };
        rows.into_iter().enumerate().map(moved).collect()
    })
}

pub(crate) fn batch(rows: &[Event]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "k",
            Arc::new(StringArray::from_iter(rows.iter().map(|row| row.key))),
        ),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from_iter(
                rows.iter().map(|row| row.time),
            )),
        ),
        (
            "x",
            Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.value))),
        ),
        (
            "gap",
            Arc::new(DurationMicrosecondArray::from_iter(
                rows.iter().map(|row| row.gap),
            )),
        ),
        (
            "tick",
            Arc::new(BooleanArray::from_iter(
                rows.iter().map(|row| Some(row.tick)),
            )),
        ),
        (
            "input",
            Arc::new(Int64Array::from_iter_values(
                rows.iter().map(|row| row.input),
            )),
        ),
        (
            "stop",
            Arc::new(TimestampMicrosecondArray::from_iter(
                rows.iter().map(Event::end),
            )),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

pub(crate) fn schema() -> SchemaRef {
    batch(&[]).schema()
}

/// The windows of a spec.
pub(crate) const SESSIONS: &str = r#"{"kind":"session","gap":10}"#;
pub(crate) const DYNAMIC: &str = r#"{"kind":"session","gap_column":"gap","longest_gap":20}"#;
pub(crate) const CUT: &str = r#"{"kind":"session","gap":10,"cut_on":["x"],"most":4,"longest":25}"#;
pub(crate) const SLIDING: &str = r#"{"kind":"sliding","difference":10,"resolution":1}"#;

/// The setting of records with ends.
pub(crate) const ENDS: &str = r#","end":"stop""#;

/// A spec of these windows, with other settings behind them.
pub(crate) fn spec(windows: &str, more: &str) -> Spec {
    let all = r#"[{"name":"n","function":"count"},{"name":"total","function":"sum","columns":["x"]},
        {"name":"latest","function":"last","columns":["x"]},{"name":"all","function":"collect_list","columns":["x"]}]"#;
    spec_of(windows, all, more)
}

/// The same with other aggregates.
pub(crate) fn spec_of(windows: &str, aggregates: &str, more: &str) -> Spec {
    let fixed = r#""keys":["k"],"time":"ts","tick":"tick","shards":1"#;
    Spec::parse(&format!(
        r#"{{{fixed},"windows":{windows},"aggregates":{aggregates}{more}}}"#
    ))
    .unwrap()
}

pub(crate) fn operator(spec: &Spec) -> Operator {
    Operator::new(spec, &schema(), Vec::new()).unwrap()
}

/// Key, start, end, aggregates as text, op, time.
pub(crate) type Row = (String, i64, i64, String, String, i64);

/// The rows of changes, or of found windows.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    batches.iter().flat_map(batch_rows).collect()
}

fn batch_rows(batch: &RecordBatch) -> Vec<Row> {
    let keys = batch.column(0).as_string::<i32>();
    let window = batch.column(1).as_struct();
    let ticks = |array: &ArrayRef| array.as_primitive::<TimestampMicrosecondType>().clone();
    let (starts, ends) = (ticks(window.column(0)), ticks(window.column(1)));
    let times = ticks(batch.columns().last().unwrap());
    let ops = batch
        .column_by_name("op")
        .map(|ops| ops.as_string::<i32>().clone());
    let row = |row: usize| {
        let shown: Vec<String> = batch.columns()[2..6]
            .iter()
            .map(|column| show(column, row))
            .collect();
        let op = ops.as_ref().map_or("", |ops| ops.value(row)).to_owned();
        (
            keys.value(row).to_owned(),
            starts.value(row),
            ends.value(row),
            shown.join(" "),
            op,
            times.value(row),
        )
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The rows of each key, in their order.
pub(crate) fn by_key(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut keys: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows.iter()
        .for_each(|row| keys.entry(&row.0).or_default().push(row));
    keys
}

fn show(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "null".into();
    }
    match column.as_list_opt::<i32>() {
        Some(lists) => format!(
            "{:?}",
            lists
                .value(row)
                .as_primitive::<Int64Type>()
                .values()
                .to_vec()
        ),
        None => column.as_primitive::<Int64Type>().value(row).to_string(),
    }
}
