//! The query that a saved state belongs to: the specification without the parts that may change when a
//! query restarts.

use std::fmt::Write;

use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::query::Query;
use super::spec::Spec;
use crate::core::error::{Error, Result};

/// The parts that may change.
const MAY_CHANGE: [&str; 2] = ["grace", "late"];

/// A specification as JSON with sorted names, and the hash of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// The JSON.
    pub text: String,
    /// xxh3-64 of the JSON, 16 hexadecimal digits.
    pub hash: String,
}

impl Fingerprint {
    /// The fingerprint of a spec that is resolved against its input.
    ///
    /// # Errors
    ///
    /// None of a spec that was parsed.
    pub(crate) fn new(spec: &Spec, query: &Query) -> Result<Self> {
        let wrong = |_| Error::Internal("a specification is not JSON");
        let Value::Object(mut asked) = serde_json::to_value(spec).map_err(wrong)? else {
            return Err(Error::Internal("a specification is not a JSON object"));
        };
        MAY_CHANGE.iter().for_each(|name| drop(asked.remove(*name)));
        // It goes with the late policy; true of every query, so that the first pages stay readable.
        asked.insert("op".into(), Value::Bool(true));
        let typed = |field: &Field| (field.name().clone(), Value::String(name(field.data_type())));
        let inputs = query.inputs.iter().map(|input| typed(&input.field));
        let types: Map<String, Value> = query
            .keys
            .iter()
            .map(typed)
            .chain([typed(&query.time)])
            .chain(inputs)
            .collect();
        let results: Vec<Value> = query
            .aggregates
            .iter()
            .map(|aggregate| json!(name(aggregate.field().data_type())))
            .collect();
        asked.insert("types".into(), Value::Object(types));
        asked.insert("results".into(), Value::Array(results));
        let text = Value::Object(asked).to_string();
        let hash = format!("{:016x}", xxh3_64(text.as_bytes()));
        Ok(Self { text, hash })
    }

    /// The differences from a saved specification, for an error: the name of each part, the saved value
    /// and this one.
    pub(crate) fn difference(&self, saved: &str) -> String {
        let read =
            |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
        let (saved, own) = (read(saved), read(&self.text));
        let mut names: Vec<&String> = saved.keys().chain(own.keys()).collect();
        names.sort();
        names.dedup();
        let mut text = String::new();
        for name in names
            .into_iter()
            .filter(|name| saved.get(*name) != own.get(*name))
        {
            let show = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
            let comma = if text.is_empty() { "" } else { "; " };
            let (argument, unit) = match name.as_str() {
                "until" => ("retention", ", in microseconds"),
                "windows" => ("windows", ", in microseconds"),
                name => (name, ""),
            };
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "{comma}{argument} was {} and is {}{unit}",
                show(saved.get(name)),
                show(own.get(name))
            );
        }
        text
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
        Timestamp(unit, zone) => format!(
            "timestamp({},{})",
            unit_name(*unit),
            zone.as_deref().unwrap_or("none")
        ),
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
