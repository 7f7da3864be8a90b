//! What of a query makes its state. A saved state has it as JSON, and names it by its hash.

use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::query::Query;
use super::spec::{AggregateSpec, Spec};
use crate::array::convert::value_type;
use crate::array::dictionary::unpacked;
use crate::array::nested::with_fields;
use crate::core::aggregate::value_type::ValueType;
use crate::core::error::{Error, Result};

/// The parts of a spec that may change. Nothing of them is in the state.
const MAY_CHANGE: [&str; 8] = [
    "grace",
    "invalid_end",
    "late",
    "left_out",
    "op",
    "every_record",
    "overflow",
    "tick",
];

/// The parts that a table of open windows does not depend on either.
const INDEPENDENT: [&str; 6] = ["shards", "emit", "every", "until", "sources", "kafka"];

/// The options of windows that may change: they only say how the next records are read.
const READ_OPTIONS: [&str; 2] = ["invalid_gap", "longest_gap"];

/// What of a query makes its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateQuery {
    /// The spec. Its aggregates are those with states, without their frames and breaks.
    #[serde(flatten)]
    pub spec: Spec,
    /// The names of the types of its columns; of a struct those of its fields.
    pub types: Map<String, Value>,
    /// The layouts of its nested columns, and the widths of keys that are decimals. The names in `types`
    /// lack them, and the bytes of states depend on them. A state says them beside its specification, whose
    /// text is that of earlier builds. The states of those do not say them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub layouts: Map<String, Value>,
    /// The name of the type of times.
    pub time_type: String,
    /// Their zone.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// The names of the types of results.
    pub results: Vec<String>,
    /// Whether the rows of a table of open windows have the emissions of their windows: of a query with
    /// `every`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paced: bool,
    /// What only later versions know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A query of states as a saved state has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// JSON with sorted names.
    pub text: String,
    /// xxh3-64 of the JSON without the names that may change, 16 hexadecimal digits.
    pub hash: String,
    /// The layouts of nested columns, which the JSON does not say.
    pub layouts: Map<String, Value>,
}

impl StateQuery {
    /// Of a spec that is resolved against its input.
    pub(crate) fn new(spec: &Spec, query: &Query) -> Self {
        let mut spec = spec.in_widest_unit();
        // The states do not depend on frames and breaks, and those of one aggregate are stored once.
        let aggregates = spec.aggregates.into_iter().zip(&query.aggregates);
        let (aggregates, results) = aggregates
            .filter(|(_, plan)| !plan.shares_states)
            .map(|(spec, plan)| {
                (
                    AggregateSpec {
                        frame: None,
                        breaks: None,
                        columns: match spec.limit {
                            None => spec.columns,
                            Some(_) => Vec::new(),
                        },
                        ..spec
                    },
                    name(plan.field().data_type(), Naming::Type),
                )
            })
            .unzip();
        spec.aggregates = aggregates;
        let inputs = query.inputs.iter().map(|input| &input.field);
        let cut_on = query.columns.rules.cut_on.iter().map(|(_, field)| field);
        let fields = query.keys.iter().chain(inputs).chain(cut_on);
        let typed = |field: &Field| (field.name().clone(), type_of(field.data_type()));
        let laid_out = |field: &Field| {
            let kind = unpacked(field.data_type());
            let is_nested = value_type(&kind).is_none_or(|of| of == ValueType::Row);
            is_nested.then(|| (field.name().clone(), json!(name(&kind, Naming::Layout))))
        };
        let width = |key: &Field| {
            let width = match unpacked(key.data_type()) {
                DataType::Decimal32(..) => "decimal32",
                DataType::Decimal64(..) => "decimal64",
                DataType::Decimal128(..) => "decimal128",
                _ => return None,
            };
            Some((key.name().clone(), json!(width)))
        };
        let widths = query.keys.iter().filter_map(width);
        let time_zone = match query.time.data_type() {
            DataType::Timestamp(_, zone) => zone.as_deref().map(str::to_owned),
            _ => None,
        };
        Self {
            spec,
            types: fields.clone().map(typed).collect(),
            layouts: fields.filter_map(laid_out).chain(widths).collect(),
            time_type: name(query.time.data_type(), Naming::Type),
            time_zone,
            results,
            paced: false,
            others: Map::new(),
        }
    }

    /// As a saved state has it.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint> {
        match serde_json::to_value(self) {
            Ok(Value::Object(specification)) => {
                Ok(Fingerprint::of(without(specification, &MAY_CHANGE)))
            }
            _ => Err(Error::Internal("a query of states is not a JSON object")),
        }
    }

    /// The error for a state of the query `self` where `own` cannot go on. `state` names the state.
    pub(super) fn refused(&self, state: &'static str, own: &Self) -> Error {
        let [saved, own] = [self, own].map(|each| serde_json::to_string(each).unwrap_or_default());
        Error::OtherQuery { state, saved, own }
    }
}

impl Fingerprint {
    /// Whether a nested column has another layout in a state with the layouts `saved`.
    pub(crate) fn has_other_layouts(&self, saved: &Map<String, Value>) -> bool {
        known_layouts(saved.clone(), &self.layouts) != self.layouts
    }

    fn of(mut specification: Map<String, Value>) -> Self {
        let layouts = match specification.remove("layouts") {
            Some(Value::Object(layouts)) => layouts,
            _ => Map::new(),
        };
        let text = Value::Object(specification.clone()).to_string();
        let hashed = Value::Object(unnamed(specification)).to_string();
        let hash = format!("{:016x}", xxh3_64(hashed.as_bytes()));
        Self {
            text,
            hash,
            layouts,
        }
    }

    /// The query of the open windows.
    pub(crate) fn of_open_windows(&self) -> Self {
        let specification: Map<_, _> = serde_json::from_str(&self.text).unwrap_or_default();
        let is_paced = specification.contains_key("every");
        let mut specification = without(specification, &INDEPENDENT);
        if let Some(Value::Object(inputs)) = specification.get_mut("inputs") {
            inputs.retain(|name, _| name == "count");
        }
        if is_paced {
            specification.insert("paced".into(), true.into());
        }
        Self {
            layouts: self.layouts.clone(),
            ..Self::of(specification)
        }
    }
}

/// A stored specification, with the layouts that are stored beside it.
pub(crate) fn with_layouts(specification: &str, layouts: &Map<String, Value>) -> String {
    match serde_json::from_str(specification) {
        Ok(Value::Object(mut whole)) if !layouts.is_empty() => {
            whole.insert("layouts".into(), layouts.clone().into());
            Value::Object(whole).to_string()
        }
        _ => specification.to_owned(),
    }
}

/// The layouts of a state. A column without one is of an earlier build, and gets that of `own`. But decimals
/// of 256 bits with few digits have the name of those of 128 bits, whose states have other bytes.
pub(super) fn known_layouts(
    mut saved: Map<String, Value>,
    own: &Map<String, Value>,
) -> Map<String, Value> {
    for (column, layout) in own.iter().filter(|(_, layout)| !is_ambiguous(layout)) {
        saved.entry(column).or_insert_with(|| layout.clone());
    }
    saved
}

fn without(mut specification: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    specification.retain(|name, _| !names.contains(&name.as_str()));
    specification
}

/// A specification without the parts that may change: the names of results, the names of columns
/// that only say how to read records, the zone of times, the pace of updates, and some options of
/// windows.
fn unnamed(specification: Map<String, Value>) -> Map<String, Value> {
    let mut specification = without(specification, &["time", "time_zone"]);
    let there = |value: &mut Value| *value = json!(!value.is_null());
    for name in ["end", "every", "tie"] {
        specification.get_mut(name).map(there);
    }
    if let Some(Value::Object(windows)) = specification.get_mut("windows") {
        windows.retain(|name, _| !READ_OPTIONS.contains(&name.as_str()));
        for name in ["gap_column", "ends", "begins"] {
            windows.get_mut(name).map(there);
        }
    }
    let aggregates = specification.get_mut("aggregates");
    let aggregates = aggregates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for aggregate in aggregates.filter_map(Value::as_object_mut) {
        aggregate.remove("name");
    }
    specification
}

/// Whether a layout is of decimals of 256 bits whose name in types is that of decimals of 128 bits.
fn is_ambiguous(layout: &Value) -> bool {
    let layout = layout.as_str().unwrap_or_default();
    let digits = layout
        .strip_prefix("decimal256(")
        .and_then(|rest| rest.split(',').next()?.parse::<u8>().ok());
    digits.is_some_and(|digits| digits <= DECIMAL128_MAX_PRECISION)
}

/// How exact the name of a type is.
#[derive(Clone, Copy)]
enum Naming {
    /// Decimals of one name have the same digits, and lists of one name the same elements.
    Type,
    /// Values of one name have the same bytes in states.
    Layout,
}

/// The name of the type of a column; for a struct the names of all of its fields.
fn type_of(data_type: &DataType) -> Value {
    match data_type {
        DataType::Struct(fields) => fields
            .iter()
            .map(|field| (field.name().clone(), type_of(field.data_type())))
            .collect::<Map<_, _>>()
            .into(),
        other => json!(name(other, Naming::Type)),
    }
}

/// The name of a type. It is our own, so that it does not change with Arrow's.
fn name(data_type: &DataType, naming: Naming) -> String {
    use DataType::*;
    let name = |inner: &DataType| name(inner, naming);
    let is_layout = matches!(naming, Naming::Layout);
    match data_type {
        Utf8 | LargeUtf8 | Utf8View => "string".into(),
        Binary | LargeBinary | BinaryView => "binary".into(),
        FixedSizeBinary(width) => format!("binary({width})"),
        Decimal32(precision, scale) if is_layout => format!("decimal32({precision},{scale})"),
        Decimal64(precision, scale) if is_layout => format!("decimal64({precision},{scale})"),
        Decimal256(precision, scale) if is_layout => format!("decimal256({precision},{scale})"),
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
        FixedSizeList(item, size) if is_layout => {
            format!("array({},{size})", name(item.data_type()))
        }
        List(item) | LargeList(item) | FixedSizeList(item, _) => {
            format!("list({})", name(item.data_type()))
        }
        Struct(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| {
                    // A name with our signs is a JSON string.
                    let is_quoted = is_layout && field.name().contains([':', ',', '(', ')', '"']);
                    let own = if is_quoted {
                        json!(field.name()).to_string()
                    } else {
                        field.name().clone()
                    };
                    format!("{own}:{}", name(field.data_type()))
                })
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
        other => format!("{:?}", bare(other)),
    }
}

/// The type without the metadata of its fields, which Arrow writes in any order.
fn bare(data_type: &DataType) -> DataType {
    with_fields(data_type, &|field| {
        let inner = Field::new(field.name(), bare(field.data_type()), field.is_nullable());
        Arc::new(inner)
    })
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}
