//! How two specifications differ, in the words of the API.

use serde_json::Value;

use super::duration_words::duration;
use super::length_unit::in_words;
use super::rows_with_windows::ROWS;
use super::spec::Specification;
use super::value_words::{listed, quoted, short, text};

/// The key of a query without keys.
const SERIES: &str = "windrow.series";

/// The largest number of differences in an error.
const MOST: usize = 3;

/// The lengths of windows.
const LENGTHS: [&str; 3] = ["gap", "difference", "resolution"];

/// A value in an error.
type Words = fn(Option<&Value>) -> String;

/// The rules of sessions, with their names and values in the API.
pub(super) const RULES: [(&str, &str, Words); 7] = [
    ("longest", "max_duration", duration),
    ("ends", "end_when", quoted),
    ("begins", "start_when", quoted),
    ("cut_on", "cut_on", listed),
    ("cut_at", "cut_at", quoted),
    ("zone", "zone", quoted),
    ("most", "max_records", quoted),
];

/// The rules that name a column of records. This column may have another name.
const COLUMN_RULES: [&str; 2] = ["ends", "begins"];

/// The differences between a saved specification and this one, on one line.
pub(super) fn difference(saved: &Specification, own: &Specification) -> String {
    let (saved, own) = &in_words(saved, own);
    let mut differences = of_windows(saved.get("windows"), own.get("windows"));
    differences.extend(changed(
        "retention",
        saved.get("until"),
        own.get("until"),
        duration,
    ));
    let plural = |name: &str, show: fn(Option<&Value>) -> String| {
        let [was, is] = [saved, own].map(|each| show(each.get(name)));
        is_changed(saved, own, name).then(|| format!("{name} were {was}, are {is}"))
    };
    differences.extend(plural("keys", keys));
    differences.extend(of_result(saved, own));
    differences.extend(of_aggregates(saved, own));
    differences.extend(changed("emit", saved.get("emit"), own.get("emit"), quoted));
    differences.extend(added("tie", saved.get("tie"), own.get("tie"), quoted));
    differences.extend(added(
        "every",
        saved.get("every"),
        own.get("every"),
        duration,
    ));
    differences.extend(plural("shards", text));
    if is_changed(saved, own, "inputs") {
        let count = |each: &Specification| match each
            .get("inputs")
            .and_then(|inputs| inputs.get("count"))
        {
            Some(count) => format!("a cogroup of {count} inputs"),
            None => "of one input".into(),
        };
        differences.push(format!("the query was {}, is {}", count(saved), count(own)));
    }
    let slowest = |source: Option<&Value>| match source {
        None | Some(Value::Null) => "'source'".into(),
        Some(_) => "'slowest'".to_owned(),
    };
    differences.extend(changed(
        "stream_time",
        saved.get("sources"),
        own.get("sources"),
        slowest,
    ));
    let time = (saved.get("time_type"), own.get("time_type"));
    differences.extend(changed("the type of the time column", time.0, time.1, text));
    let types = [saved, own].map(|each| each.get("types").and_then(Value::as_object));
    if let [Some(was), Some(is)] = types {
        of_types("", was, is, &mut differences);
    }
    differences.extend(changed("value", saved.get("kafka"), own.get("kafka"), text));
    let more = differences.len().saturating_sub(MOST);
    differences.truncate(MOST);
    if differences.is_empty() {
        return "another version of windrow wrote it".into();
    }
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    differences.join("; ") + &more
}

fn keys(names: Option<&Value>) -> String {
    listed(names.filter(|names| **names != Value::from(vec![SERIES])))
}

fn is_changed(saved: &Specification, own: &Specification, name: &str) -> bool {
    saved.get(name) != own.get(name)
}

/// The difference of an option, if any.
fn changed(
    option: &str,
    saved: Option<&Value>,
    own: Option<&Value>,
    show: impl Fn(Option<&Value>) -> String,
) -> Option<String> {
    let [was, is] = [saved, own].map(|value| value.filter(|value| !value.is_null()));
    (was != is).then(|| format!("{option} was {}, is {}", show(was), show(is)))
}

/// The difference of an option whose value may change, but which a query either has or lacks.
fn added(
    option: &str,
    saved: Option<&Value>,
    own: Option<&Value>,
    show: impl Fn(Option<&Value>) -> String,
) -> Option<String> {
    (saved.is_some() != own.is_some())
        .then(|| changed(option, saved, own, show))
        .flatten()
}

fn of_windows(saved: Option<&Value>, own: Option<&Value>) -> Vec<String> {
    let of = |windows: Option<&Value>, name: &str| {
        windows.and_then(|windows| windows.get(name)).cloned()
    };
    let kind = |windows: Option<&Value>| match of(windows, "kind") {
        Some(Value::String(kind)) if kind == "sliding" => "sliding windows",
        _ => "sessions",
    };
    if kind(saved) != kind(own) {
        return vec![format!("windows were {}, are {}", kind(saved), kind(own))];
    }
    let column =
        |windows: Option<&Value>| of(windows, "gap_column").filter(|column| !column.is_null());
    let [was, is] = [saved, own].map(column);
    if was.is_some() != is.is_some() {
        let gap = |windows, column: Option<Value>| match column {
            Some(column) => format!("the column {}", quoted(Some(&column))),
            None => duration(of(windows, "gap").as_ref()),
        };
        return vec![format!("gap was {}, is {}", gap(saved, was), gap(own, is))];
    }
    let differs = |(name, option, show): (&str, &str, Words)| {
        let [was, is] = [of(saved, name), of(own, name)];
        let (was, is) = (was.as_ref(), is.as_ref());
        if COLUMN_RULES.contains(&name) {
            added(option, was, is, show)
        } else {
            changed(option, was, is, show)
        }
    };
    let lengths = LENGTHS.map(|name| (name, name, duration as Words));
    let options = lengths.into_iter().chain(RULES);
    options.filter_map(differs).collect()
}

/// Whether the query returns windows or records.
fn of_result(saved: &Specification, own: &Specification) -> Option<String> {
    let method = |each: &Specification| {
        let has_rows =
            aggregates(each).any(|(aggregate, _)| aggregate.get("name") == Some(&ROWS.into()));
        if has_rows || each.get("over") == Some(&true.into()) {
            "with_columns"
        } else {
            "agg"
        }
    };
    let [was, is] = [saved, own].map(method);
    (was != is).then(|| format!("the query was {was}(...), is {is}(...)"))
}

/// The aggregates, each with the type of its result.
fn aggregates(each: &Specification) -> impl Iterator<Item = (&Value, Option<&Value>)> {
    let results = each.get("results").and_then(Value::as_array);
    let aggregates = each.get("aggregates").and_then(Value::as_array);
    let with_result =
        move |(nth, aggregate)| (aggregate, results.and_then(|results| results.get(nth)));
    aggregates
        .into_iter()
        .flatten()
        .enumerate()
        .map(with_result)
}

fn of_aggregates(saved: &Specification, own: &Specification) -> Vec<String> {
    let own_aggregates = |each| {
        let named =
            aggregates(each).filter(|(aggregate, _)| aggregate.get("name") != Some(&ROWS.into()));
        named.collect::<Vec<_>>()
    };
    let (was, is) = (own_aggregates(saved), own_aggregates(own));
    let mut differences = Vec::new();
    for place in 0..was.len().max(is.len()) {
        differences.extend(match (was.get(place), is.get(place)) {
            (Some((was, _)), None) => Some(format!("the aggregate {} was there", named(was))),
            (None, Some((is, _))) => Some(format!("the aggregate {} is new", named(is))),
            (Some((was, result)), Some((is, now))) => {
                let (before, after) = (call(was), call(is));
                if before != after {
                    let name = text(is.get("name"));
                    Some(format!("the aggregate {name:?} was {before}, is {after}"))
                } else {
                    let option = format!("the type of {}", named(is));
                    changed(&option, *result, *now, text)
                }
            }
            (None, None) => None,
        });
    }
    differences
}

/// An aggregate with its name, as in the API.
fn named(aggregate: &Value) -> String {
    format!("{}={}", text(aggregate.get("name")), call(aggregate))
}

/// The call that makes an aggregate.
fn call(aggregate: &Value) -> String {
    let mut arguments: Vec<String> = aggregate
        .get("columns")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|column| quoted(Some(column)))
        .collect();
    for option in [
        "percentage",
        "accuracy",
        "most",
        "funnel",
        "ignore_nulls",
        "keep_nulls",
        "input",
    ] {
        let value = aggregate.get(option);
        let value = value.filter(|value| !value.is_null() && **value != Value::Bool(false));
        arguments.extend(value.map(|value| format!("{option}={value}")));
    }
    let function = match text(aggregate.get("function")).as_str() {
        "python" => "a Python function".into(),
        name => name.to_owned(),
    };
    let filter = aggregate.get("where").filter(|filter| !filter.is_null());
    let filter = filter.map(|filter| format!(".where({})", quoted(Some(filter))));
    short(&format!(
        "{function}({}){}",
        arguments.join(", "),
        filter.unwrap_or_default()
    ))
}

/// The columns in both that have other types, and those that only one of two structs has.
fn of_types(
    within: &str,
    saved: &Specification,
    own: &Specification,
    differences: &mut Vec<String>,
) {
    for (name, was) in saved {
        let column = format!("{within}{name}");
        match (was, own.get(name)) {
            (_, None) if !within.is_empty() => {
                differences.push(format!("column {name:?} was there"))
            }
            (Value::Object(was), Some(Value::Object(is))) => {
                let within = if name.starts_with("windrow.") {
                    " ".into()
                } else {
                    format!("{column}.")
                };
                of_types(&within, was, is, differences);
            }
            (was, Some(is)) if was != is => {
                let [was, is] = [was, is].map(|each| text(Some(each)));
                differences.push(format!(
                    "column {:?} was {was}, is {is}",
                    column.trim_start()
                ));
            }
            _ => {}
        }
    }
    for name in own
        .keys()
        .filter(|name| !within.is_empty() && !saved.contains_key(*name))
    {
        differences.push(format!("column {name:?} is new"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(saved: Value, own: Value) -> String {
        let [saved, own] = [saved, own].map(|each| each.as_object().cloned().unwrap_or_default());
        difference(&saved, &own)
    }

    #[test]
    fn each_difference_is_in_the_words_of_the_api() {
        let windows = |gap: i64| json!({"kind": "session", "gap": gap});
        let sliding = json!({"kind": "sliding", "difference": 60_000_000});
        let own_gaps = json!({"kind": "session", "gap": null, "gap_column": "pause"});
        let count = json!({"name": "n", "function": "count", "columns": []});
        let sum = json!({"name": "n", "function": "sum", "columns": ["x"], "where": "paid"});
        for (saved, own, expected) in [
            (
                json!({"windows": windows(300_000_000)}),
                json!({"windows": windows(360_000_000)}),
                "gap was 5 minutes, is 6 minutes",
            ),
            (
                json!({"windows": windows(300_000_000)}),
                json!({"windows": sliding}),
                "windows were sessions, are sliding windows",
            ),
            (
                json!({"windows": windows(300_000_000)}),
                json!({"windows": own_gaps}),
                "gap was 5 minutes, is the column 'pause'",
            ),
            (
                json!({"until": null}),
                json!({"until": 1_000}),
                "retention was none, is 1 millisecond",
            ),
            (
                json!({"keys": ["a"]}),
                json!({"keys": ["a", "b"]}),
                "keys were 'a', are 'a', 'b'",
            ),
            (
                json!({"keys": ["a"]}),
                json!({"keys": ["windrow.series"]}),
                "keys were 'a', are none",
            ),
            (
                json!({"emit": "close"}),
                json!({"emit": "update"}),
                "emit was 'close', is 'update'",
            ),
            (
                json!({"aggregates": [count]}),
                json!({"aggregates": [sum]}),
                "the aggregate \"n\" was count(), is sum('x').where('paid')",
            ),
            (
                json!({"aggregates": [count]}),
                json!({"aggregates": [count, sum]}),
                "the aggregate n=sum('x').where('paid') is new",
            ),
            (
                json!({"types": {"x": "int64", "gone": "int64"}}),
                json!({"types": {"x": "float64"}}),
                "column \"x\" was int64, is float64",
            ),
            (
                json!({"types": {"windrow.row": {"x": "int64", "y": "int64"}}}),
                json!({"types": {"windrow.row": {"x": "int64", "z": "int64"}}}),
                "column \"y\" was there; column \"z\" is new",
            ),
        ] {
            assert_eq!(of(saved, own), expected);
        }
    }

    #[test]
    fn many_and_long_differences_are_cut() {
        let columns = |count: usize, kind: &str| {
            let types = (0..count).map(|nth| (format!("c{nth}"), json!(kind)));
            json!({"types": types.collect::<Specification>()})
        };
        let message = of(columns(9, &"a".repeat(500)), columns(9, "b"));
        assert!(
            message.ends_with("; and 6 more") && message.len() < 500,
            "{message}"
        );
    }
}
