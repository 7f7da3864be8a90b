//! The book of cases: what each rule gives, in a batch or micro-batch by micro-batch.
//!
//! `tests/cases/book.jsonl` has the cases, and `tests/python/harness/book_lines.py` its format.

use std::path::PathBuf;
use std::sync::Arc;

use crate::core::interrupt::Interrupt;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DurationMicrosecondArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field};
use serde_json::Value as Json;

/// A row of a result: what it is, key, bounds, and values by name. Values that are times or lengths are
/// milliseconds.
type Row = (String, String, i64, i64, Vec<(String, String)>);

fn cases() -> Vec<Json> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/book.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn list(json: &Json) -> &Vec<Json> {
    json.as_array().unwrap()
}

/// The values of a column, by the name of its type.
fn column(kind: &str, values: &[&Json]) -> ArrayRef {
    let integers = || values.iter().map(|value| value.as_i64());
    match kind {
        "string" => Arc::new(StringArray::from_iter(
            values.iter().map(|value| value.as_str()),
        )),
        "time" => Arc::new(TimestampMicrosecondArray::from_iter(integers())),
        "length" => Arc::new(DurationMicrosecondArray::from_iter(integers())),
        "truth" => Arc::new(BooleanArray::from_iter(
            values.iter().map(|value| value.as_bool()),
        )),
        "integer" => Arc::new(Int64Array::from_iter(integers())),
        "small" => Arc::new(Int32Array::from_iter(
            integers().map(|value| value.map(|value| i32::try_from(value).unwrap())),
        )),
        "float" => Arc::new(Float64Array::from_iter(
            values.iter().map(|value| value.as_f64()),
        )),
        other => panic!("unknown type {other}"),
    }
}

fn batch(columns: &Json, rows: &Json) -> RecordBatch {
    let arrays = list(columns).iter().enumerate().map(|(place, column_of)| {
        let values: Vec<&Json> = list(rows).iter().map(|row| &row[place]).collect();
        let kind = column_of[1].as_str().unwrap();
        (column_of[0].as_str().unwrap(), column(kind, &values), true)
    });
    RecordBatch::try_from_iter_with_nullable(arrays).unwrap()
}

/// A value as Arrow shows it.
fn text(value: &Json) -> String {
    match value {
        Json::Array(values) => {
            let texts: Vec<String> = values.iter().map(text).collect();
            format!("[{}]", texts.join(", "))
        }
        Json::String(value) => value.clone(),
        other => other.to_string(),
    }
}

/// The rows that a case expects.
fn expected_rows(gives: &Json) -> Vec<Row> {
    let row = |row: &Json| {
        let values = row[4].as_object().unwrap().iter();
        let op = if row[0] == "final" {
            &Json::Null
        } else {
            &row[0]
        };
        (
            op.as_str().unwrap_or("upsert").to_owned(),
            text(&row[1]),
            row[2].as_i64().unwrap(),
            row[3].as_i64().unwrap(),
            values
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        )
    };
    list(gives).iter().map(row).collect()
}

/// The rows of a result, with the values that some expected row has.
fn result_rows(batches: &[RecordBatch], expected: &[Row]) -> Vec<Row> {
    let mut names: Vec<&String> = expected
        .iter()
        .flat_map(|row| row.4.iter().map(|(name, _)| name))
        .collect();
    names.sort();
    names.dedup();
    batches
        .iter()
        .flat_map(|batch| rows(batch, &names))
        .collect()
}

/// The same values, with times and lengths as numbers.
fn in_milliseconds(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Timestamp(..) | DataType::Duration(_) => {
            let micros = cast(array, &DataType::Int64).unwrap();
            let millis = micros.as_primitive::<Int64Type>().unary(|micros| {
                assert_eq!(micros % 1_000, 0, "a case tells whole milliseconds");
                micros / 1_000
            });
            Arc::new(millis as Int64Array)
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let values = in_milliseconds(lists.values());
            let item = Arc::new(Field::new("item", values.data_type().clone(), true));
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::new(item, offsets, values, nulls))
        }
        _ => Arc::clone(array),
    }
}

fn rows(batch: &RecordBatch, names: &[&String]) -> Vec<Row> {
    let options = FormatOptions::default().with_null("null");
    let shown = |array: &ArrayRef, row: usize| {
        let plain = in_milliseconds(array);
        let formatter = ArrayFormatter::try_new(&plain, &options).unwrap();
        formatter.value(row).to_string()
    };
    let window = batch.column(1).as_struct();
    let bound = |place: usize, row: usize| {
        window
            .column(place)
            .as_primitive::<TimestampMicrosecondType>()
            .value(row)
    };
    let op = |row: usize| match batch.column_by_name("op") {
        Some(ops) => shown(ops, row),
        None => "upsert".into(),
    };
    let row = |row: usize| {
        let of = |name: &&&String| batch.column_by_name(name.as_str()).is_some();
        let value = |name: &&String| {
            let column = batch.column_by_name(name.as_str()).unwrap();
            ((*name).clone(), shown(column, row))
        };
        let values = if op(row) == "delete" {
            Vec::new()
        } else {
            names.iter().filter(of).map(value).collect()
        };
        (
            op(row),
            shown(batch.column(0), row),
            bound(0, row),
            bound(1, row),
            values,
        )
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Compares rows in any order. Of their values it compares those that a case expects.
fn compare(step: usize, mut expected: Vec<Row>, batches: &[RecordBatch]) -> Result<(), String> {
    let mut found = result_rows(batches, &expected);
    expected.sort();
    found.sort();
    let agree = |(one, other): (&Row, &Row)| {
        let bounds = (&one.0, &one.1, one.2, one.3) == (&other.0, &other.1, other.2, other.3);
        bounds && one.4.iter().all(|value| other.4.contains(value))
    };
    if expected.len() == found.len() && expected.iter().zip(&found).all(agree) {
        return Ok(());
    }
    Err(format!("step {step}: expected {expected:?}, got {found:?}"))
}

/// A query over all rows at once.
fn play_batch(case: &Json, spec: &Spec) -> Result<(), String> {
    let step = &case["steps"][0];
    let rows = batch(&case["columns"], &step["rows"]);
    let query = Arc::new(Query::new(spec, &rows.schema()).unwrap());
    let (windows, _) = query
        .run([Ok(rows)].into_iter(), 2, &Interrupt::never())
        .unwrap();
    compare(0, expected_rows(&step["gives"]), &windows)
}

/// A record operator; with `restarts` a new one continues each saved state.
fn play_stream(case: &Json, spec: &Spec, restarts: bool) -> Result<(), String> {
    let schema = batch(&case["columns"], &Json::Array(Vec::new())).schema();
    let new = || Operator::new(spec, &schema, Vec::new()).unwrap();
    let mut operator = new();
    for (number, step) in list(&case["steps"]).iter().enumerate() {
        let changes = if step["finish"] == true {
            operator.finish().unwrap()
        } else {
            let rows = batch(&case["columns"], &step["rows"]);
            operator.push(&rows).unwrap()
        };
        compare(number, expected_rows(&step["gives"]), &changes)?;
        if restarts {
            let pages = operator.pages().unwrap();
            operator = new();
            let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
            operator.restore(&pages).unwrap();
        }
    }
    let counters = serde_json::to_value(operator.counters()).unwrap();
    // Stream time is no counter of the core, and the counters of ends are not written if they are zero.
    let wrong = |(name, value): &(&String, &Json)| {
        let of_ends = ["behind", "bad_ends"].contains(&name.as_str());
        let found = counters.get(name.as_str());
        *name != "stream_time" && found.map_or(!(of_ends && **value == 0), |found| found != *value)
    };
    match case["counters"].as_object().unwrap().iter().find(wrong) {
        Some((name, value)) => Err(format!("expected {name} {value}, got {}", counters[name])),
        None => Ok(()),
    }
}

#[test]
fn the_cases_of_the_book_give_what_they_tell() {
    let (mut played, mut failed) = (0, Vec::new());
    for case in cases().iter().filter(|case| case["why"].is_null()) {
        let spec = Spec::parse(&case["spec"].to_string()).unwrap();
        let results = if case["batch"] == true {
            vec![play_batch(case, &spec)]
        } else {
            vec![
                play_stream(case, &spec, false),
                play_stream(case, &spec, true),
            ]
        };
        played += 1;
        for difference in results.into_iter().filter_map(Result::err) {
            failed.push(format!("{} {}: {difference}", case["rules"], case["name"]));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(played >= 110, "the book is there: {played} cases");
}
