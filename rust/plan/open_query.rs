//! The query of a table of open windows: what the table depends on, and what another query may
//! continue.
//!
//! | part of the query | another query |
//! |---|---|
//! | keys, `cut_on`, the time's unit, the kind of windows, the number of inputs | must have the same |
//! | the types of columns | may have wider ones ([`super::wider_types`]), and those of values narrower ones where results stay the same |
//! | a fixed gap | may have a longer one |
//! | aggregates | may lack some, and may have more |
//! | `every` | may have another one. Updates cannot lose it, because rows of a window may wait |
//! | all others | may differ |

use arrow_schema::DataType;
use serde_json::{Value, json};

use super::changed_query::{self, RULES};
use super::fingerprint::{Fingerprint, hash, unnamed};
use super::length_unit::{in_one_unit, is_in_nanoseconds};
use super::rows_with_windows::ROWS;
use super::spec::Specification;
use super::stored_aggregates::{Definition, aggregates, fixed_types};
use super::wider_types::{narrower_keys, widen};

/// Whether rows have the emissions of their windows: of a query with `every`.
const PACED: &str = "paced";

/// The parts of a specification that the open windows do not depend on.
const INDEPENDENT: [&str; 6] = ["shards", "emit", "every", "until", "sources", "kafka"];

/// How a query continues the open windows of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Continuation {
    /// For each aggregate the place of its states among those of the other query. `None` if the other
    /// query has none.
    pub aggregates: Vec<Option<usize>>,
    /// The gap of the other query, if the gap of sessions is longer than that.
    pub shorter_gap: Option<i64>,
    /// Whether the other query has a pace of updates.
    pub is_paced: bool,
    /// Whether this gap is in nanoseconds, not in microseconds.
    pub in_nanoseconds: bool,
    /// For each key its type in the other query, if that is narrower.
    pub narrower_keys: Vec<Option<DataType>>,
}

impl Fingerprint {
    /// The query of the open windows.
    pub(crate) fn of_open_windows(&self) -> Self {
        let specification = read(&self.text);
        let is_paced = has_pace(&specification);
        let mut specification = relevant(specification);
        if is_paced {
            specification.insert(PACED.into(), true.into());
        }
        let text = Value::Object(specification.clone()).to_string();
        Self {
            hash: hash(unnamed(specification)),
            text,
        }
    }

    /// How this query continues open windows of the query with the specification `saved`.
    pub(crate) fn continues(&self, saved: &str) -> Result<Continuation, String> {
        let (mut saved, own) = (relevant(read(saved)), read(&self.text));
        let is_paced = saved.remove(PACED).is_some();
        if is_paced && own.get("emit") == Some(&json!("update")) && !has_pace(&own) {
            return Err("every was there, is none, so rows that wait would never leave".into());
        }
        let mut own = relevant(own);
        in_one_unit(&mut saved, &mut own);
        let narrower_keys = narrower_keys(&saved, &own);
        widen(&mut saved, &own);
        let (windows, shorter_gap) = longer_gap(&saved, &own);
        let fixed = |specification: &Specification, windows: Option<Value>| {
            let mut fixed = specification.clone();
            fixed.insert("windows".into(), windows.unwrap_or_default());
            for name in ["aggregates", "results"] {
                fixed.remove(name);
            }
            let types = Value::Object(fixed_types(specification));
            fixed.insert("types".into(), types);
            fixed
        };
        let (before, after) = (
            fixed(&saved, windows),
            fixed(&own, own.get("windows").cloned()),
        );
        if unnamed(before.clone()) != unnamed(after.clone()) {
            return Err(changed_query::difference(&before, &after));
        }
        let aggregates = if unnamed(saved.clone()) == unnamed(own.clone()) {
            (0..aggregates(&own).len()).map(Some).collect()
        } else {
            matches(&saved, &own)?
        };
        Ok(Continuation {
            aggregates,
            shorter_gap,
            is_paced,
            in_nanoseconds: is_in_nanoseconds(&own),
            narrower_keys,
        })
    }
}

fn read(text: &str) -> Specification {
    serde_json::from_str(text).unwrap_or_default()
}

fn has_pace(specification: &Specification) -> bool {
    specification
        .get("every")
        .is_some_and(|every| !every.is_null())
}

/// A specification without the parts that open windows do not depend on.
fn relevant(mut specification: Specification) -> Specification {
    INDEPENDENT
        .iter()
        .for_each(|name| drop(specification.remove(*name)));
    if let Some(Value::Object(inputs)) = specification.get_mut("inputs") {
        inputs.retain(|name, _| name == "count");
    }
    specification
}

/// The windows of `saved`, with the gap of `own` if that is longer, and the gap that it had.
fn longer_gap(saved: &Specification, own: &Specification) -> (Option<Value>, Option<i64>) {
    let [mut windows, is] = [saved, own].map(|each| each.get("windows").cloned());
    let gap = |windows: Option<&Value>| {
        let has_rules = RULES
            .iter()
            .any(|(rule, ..)| windows.is_some_and(|windows| windows.get(rule).is_some()));
        windows?.get("gap")?.as_i64().filter(|_| !has_rules)
    };
    let gaps = gap(windows.as_ref()).zip(gap(is.as_ref()));
    let longer = gaps.filter(|(was, is)| is > was);
    if let (Some((_, is)), Some(Value::Object(windows))) = (longer, windows.as_mut()) {
        windows.insert("gap".into(), json!(is));
    }
    (windows, longer.map(|(was, _)| was))
}

/// A specification of one aggregate only.
fn alone(definition: &Definition) -> Specification {
    let (mut aggregate, result, types) = definition.states.clone();
    if let Some(fields) = aggregate.as_object_mut() {
        fields.insert("name".into(), definition.name.clone());
    }
    let parts = [
        ("aggregates", json!([aggregate])),
        ("results", json!([result])),
        ("types", Value::Object(types)),
    ];
    parts
        .map(|(name, part)| (name.to_owned(), part))
        .into_iter()
        .collect()
}

/// For each aggregate of `own` the place of its states in `saved`. Functions of the user have their
/// names only.
fn matches(saved: &Specification, own: &Specification) -> Result<Vec<Option<usize>>, String> {
    let (was, is) = (aggregates(saved), aggregates(own));
    let has_rows = |each: &[Definition]| each.iter().any(|each| each.name == json!(ROWS));
    if has_rows(&was) != has_rows(&is) {
        return Err(changed_query::difference(saved, own));
    }
    let place = |own: &Definition| {
        if let Some(place) = was.iter().position(|each| each.name == own.name) {
            let same = was.get(place).filter(|each| each.states != own.states);
            return match same {
                None => Ok(Some(place)),
                Some(other) => Err(changed_query::difference(&alone(other), &alone(own))),
            };
        }
        let same = |each: &Definition| !own.is_function && each.states == own.states;
        Ok(was.iter().position(same))
    };
    is.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(gap: i64, aggregates: &[(&str, &str, &str)]) -> Value {
        let results: Vec<&str> = aggregates.iter().map(|_| "int64").collect();
        let aggregates: Vec<Value> = aggregates
            .iter()
            .map(|(name, function, column)| {
                json!({"name": name, "function": function, "columns": [column]})
            })
            .collect();
        json!({
            "keys": ["user"], "time": "ts", "shards": 32, "emit": "close", "until": null,
            "windows": {"kind": "session", "gap": gap, "gap_column": null},
            "aggregates": aggregates, "results": results,
            "types": {"user": "string", "x": "int64", "y": "int64"},
        })
    }

    fn of(saved: &Value, own: &Value) -> Result<Continuation, String> {
        let own = Fingerprint {
            text: own.to_string(),
            hash: String::new(),
        };
        own.continues(&saved.to_string())
    }

    fn with(mut specification: Value, name: &str, value: Value) -> Value {
        specification[name] = value;
        specification
    }

    #[test]
    fn aggregates_are_found_by_what_they_compute() {
        let saved = sessions(
            9,
            &[("a", "sum", "x"), ("f", "python", "x"), ("b", "sum", "y")],
        );
        for (own, places) in [
            (
                vec![("a", "sum", "x"), ("f", "python", "x"), ("b", "sum", "y")],
                vec![Some(0), Some(1), Some(2)],
            ),
            (
                vec![("p", "sum", "x"), ("q", "python", "x"), ("r", "sum", "y")],
                vec![Some(0), Some(1), Some(2)],
            ),
            (vec![("b", "sum", "y")], vec![Some(2)]),
            (
                vec![("new", "sum", "y"), ("b", "sum", "y")],
                vec![Some(2), Some(2)],
            ),
            (
                vec![("n", "count", "x"), ("f", "python", "x")],
                vec![None, Some(1)],
            ),
            (vec![("g", "python", "x")], vec![None]),
        ] {
            let found = of(&saved, &sessions(9, &own)).unwrap();
            assert_eq!(found.aggregates, places, "{own:?}");
        }
    }

    #[test]
    fn what_cannot_be_continued_is_named() {
        let saved = sessions(9, &[("a", "sum", "x")]);
        let other = |name: &str, value: Value| with(saved.clone(), name, value);
        let typed = json!({"user": "string", "x": "float64"});
        for (own, says) in [
            (
                sessions(8, &[("a", "sum", "x")]),
                "gap was 9 microseconds, is 8 microseconds",
            ),
            (
                sessions(9, &[("a", "max", "x")]),
                "the aggregate \"a\" was sum('x'), is max('x')",
            ),
            (
                other("keys", json!(["user", "id"])),
                "keys were 'user', are 'user', 'id'",
            ),
            (
                other("time_type", json!("timestamp(ns,none)")),
                "the type of the time column was none, is timestamp(ns,none)",
            ),
            (other("types", typed), "column \"x\" was int64, is float64"),
            (
                other("types", json!({"user": "int64"})),
                "column \"user\" was string, is int64",
            ),
            (
                other("inputs", json!({"count": 2})),
                "the query was of one input, is a cogroup of 2 inputs",
            ),
            (
                other(
                    "windows",
                    json!({"kind": "session", "gap": null, "gap_column": "pause"}),
                ),
                "gap was 9 microseconds, is the column 'pause'",
            ),
            (
                other(
                    "windows",
                    json!({"kind": "session", "gap": 10, "longest": 30}),
                ),
                "gap was 9 microseconds, is 10 microseconds; max_duration was none, is 30 microseconds",
            ),
        ] {
            assert_eq!(of(&saved, &own), Err(says.into()));
        }
    }

    #[test]
    fn the_rest_may_differ() {
        let saved = sessions(9, &[("a", "sum", "x")]);
        let mut own = sessions(10, &[("a", "sum", "x")]);
        for (name, value) in [
            ("shards", json!(7)),
            ("emit", json!("update")),
            ("until", json!(5)),
            ("time", json!("t")),
        ] {
            own = with(own, name, value);
        }
        let found = of(&saved, &own).unwrap();
        assert_eq!(
            (found.aggregates, found.shorter_gap),
            (vec![Some(0)], Some(9))
        );
    }

    #[test]
    fn columns_may_get_wider_types() {
        let typed = |user: &str, x: &str, result: &str| {
            let query = with(
                sessions(9, &[("a", "max", "x")]),
                "types",
                json!({"user": user, "x": x}),
            );
            with(query, "results", json!([result]))
        };
        let saved = typed("int32", "decimal(9,2)", "decimal(9,2)");
        let found = of(&saved, &typed("int64", "decimal(12,2)", "decimal(12,2)")).unwrap();
        assert_eq!(found.aggregates, [Some(0)]);
        assert_eq!(found.narrower_keys, [Some(DataType::Int32)]);
        let same = of(&saved, &saved).unwrap();
        assert_eq!(same.narrower_keys, [None]);
        for (own, says) in [
            (
                typed("int16", "decimal(9,2)", "decimal(9,2)"),
                "column \"user\" was int32, is int16",
            ),
            (
                typed("uint64", "decimal(9,2)", "decimal(9,2)"),
                "column \"user\" was int32, is uint64",
            ),
            (
                typed("int32", "decimal(9,3)", "decimal(9,3)"),
                "column \"x\" was decimal(9,2), is decimal(9,3)",
            ),
        ] {
            let refused = of(&saved, &own).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        // A sum has one type for all integers, so a narrower column changes nothing.
        let counts = |x: &str| typed("int64", x, "int64");
        let found = of(&counts("int64"), &counts("int32")).unwrap();
        assert_eq!(found.aggregates, [Some(0)]);
        let shrunk = of(
            &typed("int64", "int64", "int64"),
            &typed("int64", "int32", "int32"),
        );
        assert!(shrunk.is_err());
    }

    /// A query with these options of `emit`.
    fn emitting(emit: &str, every: Value) -> Fingerprint {
        let query = with(sessions(9, &[("a", "sum", "x")]), "emit", json!(emit));
        Fingerprint {
            text: with(query, "every", every).to_string(),
            hash: String::new(),
        }
    }

    #[test]
    fn updates_keep_a_pace() {
        let none = || emitting("update", json!(null));
        let paced = |every: i64| emitting("update", json!(every));
        let close = emitting("close", json!(null));
        for (saved, own, is_paced) in [
            (paced(7), paced(8), Some(true)),
            (paced(7), close, Some(true)),
            (none(), paced(8), Some(false)),
            (none(), none(), Some(false)),
            (paced(7), none(), None),
        ] {
            let found = own.continues(&saved.of_open_windows().text);
            let found = found.map(|found| found.is_paced);
            let error = "every was there, is none, so rows that wait would never leave";
            assert_eq!(found, is_paced.ok_or_else(|| error.into()));
        }
        let hash = |query: Fingerprint| query.of_open_windows().hash;
        assert_eq!(hash(paced(7)), hash(paced(8)));
        assert_ne!(hash(paced(7)), hash(none()));
    }
}
