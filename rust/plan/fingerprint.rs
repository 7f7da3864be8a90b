//! The query that a saved state belongs to: the specification without the parts that may change
//! when a query restarts.

use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::changed_query;
use super::length_unit;
use super::query::Query;
use super::spec::Spec;
use crate::core::error::{Error, Result};

/// The parts that may change. Nothing of them is in the state.
const MAY_CHANGE: [&str; 7] = [
    "grace",
    "late",
    "left_out",
    "op",
    "every_record",
    "overflow",
    "tick",
];

/// The options of windows that may change: they only say how the next records are read.
const READ_OPTIONS: [&str; 2] = ["invalid_gap", "longest_gap"];

/// A specification as JSON with sorted names, and the hash of what its state depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// The JSON.
    pub text: String,
    /// xxh3-64 of the JSON without the names that may change, 16 hexadecimal digits.
    pub hash: String,
}

impl Fingerprint {
    /// The fingerprint of a spec that is resolved against its input.
    pub(crate) fn new(spec: &Spec, query: &Query) -> Result<Self> {
        let wrong = |_| Error::Internal("a specification is not JSON");
        let Value::Object(mut specification) = serde_json::to_value(spec).map_err(wrong)? else {
            return Err(Error::Internal("a specification is not a JSON object"));
        };
        MAY_CHANGE
            .iter()
            .for_each(|name| drop(specification.remove(*name)));
        length_unit::in_widest_unit(&mut specification);
        let typed = |field: &Field| (field.name().clone(), type_of(field.data_type()));
        let inputs = query.inputs.iter().map(|input| &input.field);
        let cut_on = query.columns.rules.cut_on.iter().map(|(_, field)| field);
        let fields = query.keys.iter().chain(inputs).chain(cut_on);
        let types: Map<String, Value> = fields.map(typed).collect();
        // The states do not depend on frames, and those of one aggregate are stored once.
        if let Some(Value::Array(aggregates)) = specification.get_mut("aggregates") {
            let mut plans = query.aggregates.iter();
            aggregates.retain(|_| plans.next().is_some_and(|plan| !plan.shares_states));
            let aggregates = aggregates.iter_mut().filter_map(Value::as_object_mut);
            aggregates.for_each(|aggregate| drop(aggregate.remove("frame")));
        }
        let results = query.aggregates.iter();
        let results: Vec<Value> = results
            .filter(|aggregate| !aggregate.shares_states)
            .map(|aggregate| json!(name(aggregate.field().data_type())))
            .collect();
        specification.insert("types".into(), Value::Object(types));
        specification.insert("time_type".into(), json!(name(query.time.data_type())));
        if let DataType::Timestamp(_, zone) = query.time.data_type() {
            specification.insert("time_zone".into(), json!(zone.as_deref()));
        }
        specification.insert("results".into(), Value::Array(results));
        let text = Value::Object(specification.clone()).to_string();
        let hash = hash(unnamed(specification));
        Ok(Self { text, hash })
    }

    /// The differences from a saved specification, for an error, in the words of the API.
    pub(crate) fn difference(&self, saved: &str) -> String {
        let read =
            |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        changed_query::difference(&read(saved), &read(&self.text))
    }
}

/// The hash of a specification.
pub(super) fn hash(specification: Map<String, Value>) -> String {
    let text = Value::Object(specification).to_string();
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// A specification without the parts that may change: the names of results, the names of columns
/// that only say how to read records, the zone of times, the pace of updates, and some options of
/// windows.
pub(super) fn unnamed(mut specification: Map<String, Value>) -> Map<String, Value> {
    for name in ["time", "time_zone"] {
        specification.remove(name);
    }
    let there = |value: &mut Value| *value = json!(!value.is_null());
    for name in ["every", "tie"] {
        specification.get_mut(name).map(there);
    }
    if let Some(Value::Object(windows)) = specification.get_mut("windows") {
        READ_OPTIONS
            .iter()
            .for_each(|name| drop(windows.remove(*name)));
        for name in ["gap_column", "ends", "begins"] {
            windows.get_mut(name).map(there);
        }
    }
    if let Some(Value::Array(aggregates)) = specification.get_mut("aggregates") {
        let aggregates = aggregates.iter_mut().filter_map(Value::as_object_mut);
        aggregates.for_each(|aggregate| drop(aggregate.remove("name")));
    }
    specification
}

/// The name of the type of a column; for a struct the names of all of its fields.
fn type_of(data_type: &DataType) -> Value {
    match data_type {
        DataType::Struct(fields) => fields
            .iter()
            .map(|field| (field.name().clone(), type_of(field.data_type())))
            .collect::<Map<_, _>>()
            .into(),
        other => json!(name(other)),
    }
}

/// The name of a type. It is our own, so that it does not change with Arrow's.
fn name(data_type: &DataType) -> String {
    use DataType::*;
    match data_type {
        Utf8 | LargeUtf8 | Utf8View => "string".into(),
        Binary | LargeBinary | BinaryView => "binary".into(),
        FixedSizeBinary(width) => format!("binary({width})"),
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale) => {
            format!("decimal({precision},{scale})")
        }
        // Its values are in UTC, in every zone.
        Timestamp(unit, zone) => {
            let zone = zone.as_deref().map_or("none", |_| "UTC");
            format!("timestamp({},{zone})", unit_name(*unit))
        }
        Duration(unit) => format!("duration({})", unit_name(*unit)),
        Time32(unit) | Time64(unit) => format!("time({})", unit_name(*unit)),
        Dictionary(_, values) => name(values),
        List(item) | LargeList(item) | FixedSizeList(item, _) => {
            format!("list({})", name(item.data_type()))
        }
        Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{}:{}", field.name(), name(field.data_type())))
                .collect();
            format!("struct({})", fields.join(","))
        }
        Map(entries, _) => format!("map({})", name(entries.data_type())),
        Boolean => "boolean".into(),
        Int8 => "int8".into(),
        Int16 => "int16".into(),
        Int32 => "int32".into(),
        Int64 => "int64".into(),
        UInt8 => "uint8".into(),
        UInt16 => "uint16".into(),
        UInt32 => "uint32".into(),
        UInt64 => "uint64".into(),
        Float16 => "float16".into(),
        Float32 => "float32".into(),
        Float64 => "float64".into(),
        Date32 => "date32".into(),
        Date64 => "date64".into(),
        Null => "null".into(),
        other => format!("{other:?}"),
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}
