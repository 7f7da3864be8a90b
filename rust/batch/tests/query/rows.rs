//! Rows, and queries over them.

use std::sync::Arc;

use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DurationMicrosecondArray, Float64Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use proptest::prelude::*;

/// A row: key, name, time, tick, value.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) key: Option<i64>,
    pub(crate) name: Option<&'static str>,
    pub(crate) time: Option<i64>,
    pub(crate) tick: Option<bool>,
    pub(crate) value: Option<i64>,
}

impl Row {
    /// The gap of a row: three times its value.
    pub(super) fn gap(&self) -> Option<i64> {
        self.value.map(|value| value.saturating_mul(3))
    }

    /// The end of a row, which follows from its time. Some rows have none, and some end too early.
    pub(super) fn end(&self) -> Option<i64> {
        let time = self.time.filter(|time| time % 13 != 0)?;
        Some(time.saturating_add(time.wrapping_mul(7).rem_euclid(31) - 4))
    }

    /// Whether a session ends with it: its value is a multiple of 4.
    pub(super) fn ends(&self) -> Option<bool> {
        self.value.map(|value| value % 4 == 0)
    }
}

pub(crate) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
        Field::new(
            "ts",
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            true,
        ),
        Field::new("tick", DataType::Boolean, true),
        Field::new("x", DataType::Int64, true),
        Field::new("f", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("d", DataType::Decimal128(9, 2), true),
        Field::new("gap", DataType::Duration(TimeUnit::Microsecond), true),
        Field::new("ends", DataType::Boolean, true),
        Field::new(
            "stop",
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            true,
        ),
    ]))
}

pub(crate) fn batch(rows: &[Row]) -> RecordBatch {
    let text = |row: &Row| row.value.map(|value| format!("{value}"));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.key).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.name).collect::<StringArray>()),
        Arc::new(
            rows.iter()
                .map(|row| row.time)
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
        Arc::new(rows.iter().map(|row| row.tick).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|row| row.value).collect::<Int64Array>()),
        Arc::new(
            rows.iter()
                .map(|row| row.value.map(|value| value as f64 / 4.0))
                .collect::<Float64Array>(),
        ),
        Arc::new(rows.iter().map(text).collect::<StringArray>()),
        Arc::new(
            rows.iter()
                .map(|row| row.value.map(i128::from))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(9, 2)
                .unwrap(),
        ),
        Arc::new(
            rows.iter()
                .map(Row::gap)
                .collect::<DurationMicrosecondArray>(),
        ),
        Arc::new(rows.iter().map(Row::ends).collect::<BooleanArray>()),
        Arc::new(
            rows.iter()
                .map(Row::end)
                .collect::<TimestampMicrosecondArray>()
                .with_timezone("UTC"),
        ),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

/// Every aggregate, over several types.
pub(super) const AGGREGATES: &str = r#"[
    {"name": "rows", "function": "count"},
    {"name": "values", "function": "count", "columns": ["x"]},
    {"name": "sum_x", "function": "sum", "columns": ["x"]},
    {"name": "sum_f", "function": "sum", "columns": ["f"]},
    {"name": "sum_d", "function": "sum", "columns": ["d"]},
    {"name": "mean_x", "function": "mean", "columns": ["x"]},
    {"name": "mean_d", "function": "mean", "columns": ["d"]},
    {"name": "min_s", "function": "min", "columns": ["s"]},
    {"name": "max_f", "function": "max", "columns": ["f"]},
    {"name": "first_s", "function": "first", "columns": ["s"]},
    {"name": "last_x", "function": "last", "columns": ["x"], "ignore_nulls": true},
    {"name": "stddev_x", "function": "stddev", "columns": ["x"]},
    {"name": "list_x", "function": "collect_list", "columns": ["x"]},
    {"name": "set_s", "function": "collect_set", "columns": ["s"]},
    {"name": "max_by", "function": "max_by", "columns": ["s", "f"]}
]"#;

/// A query of these windows, all aggregates or few, and one key column or two.
pub(crate) fn query(
    windows: &str,
    keys: &str,
    aggregates: &str,
    shards: u32,
    limits: Limits,
) -> Arc<Query> {
    query_with("", windows, keys, aggregates, shards, limits)
}

/// The same with more settings.
pub(crate) fn query_with(
    more: &str,
    windows: &str,
    keys: &str,
    aggregates: &str,
    shards: u32,
    limits: Limits,
) -> Arc<Query> {
    let spec = format!(
        r#"{{"keys": {keys}, "time": "ts", "tick": "tick", "windows": {windows}, "aggregates": {aggregates}, "op": true, "shards": {shards}{more}}}"#
    );
    let mut query = Query::new(&Spec::parse(&spec).unwrap(), &schema()).unwrap();
    query.limits = limits;
    Arc::new(query)
}

/// Rows with nulls, ties and ticks, in order or not.
pub(super) fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop_oneof![1 => Just(None), 9 => (0..6_i64).prop_map(Some)],
        prop::sample::select(vec![None, Some("a"), Some("b"), Some("a longer name")]),
        prop_oneof![1 => Just(None), 12 => (-40..200_i64).prop_map(Some)],
        prop::sample::select(vec![None, Some(false), Some(false), Some(true)]),
        prop_oneof![1 => Just(None), 5 => (-4..5_i64).prop_map(Some)],
    );
    let row = row.prop_map(|(key, name, time, tick, value)| Row {
        key,
        name,
        time,
        tick,
        value,
    });
    (prop::collection::vec(row, 0..150), any::<bool>()).prop_map(|(mut rows, in_order)| {
        if in_order {
            rows.sort_by_key(|row| row.time);
        }
        rows
    })
}

/// Limits small enough to be met.
pub(super) fn limits() -> impl Strategy<Value = Limits> {
    let rows = [1..60_usize, 1..20, 1..20, 1..60, 0..60];
    let bytes = [0..1000_usize, 1..3000, 0..6000];
    (rows, 0..5_usize, bytes).prop_map(|(rows, pack_keys, bytes)| {
        let [run_rows, part_rows, step_rows, pack_rows, pack_loose] = rows;
        let [waiting_bytes, block_bytes, merge_bytes] = bytes;
        Limits {
            run_rows,
            waiting_bytes,
            part_rows,
            step_rows,
            pack_rows,
            pack_loose,
            pack_keys,
            block_bytes,
            merge_bytes,
            ..Limits::default()
        }
    })
}
