//! Which queries may continue a table of open windows.

use arrow_schema::DataType;
use serde_json::{Map, Value, json};

use crate::core::error::{Error, Result};
use crate::plan::continuation::{Continuation, PACED, UNPACED};
use crate::plan::state_query::Fingerprint;

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
        "types": {"user": "string", "x": "int64", "y": "int64"}, "time_type": "timestamp(us,UTC)",
    })
}

fn of(saved: &Value, own: &Value) -> Result<Continuation> {
    let own = Fingerprint {
        text: own.to_string(),
        hash: String::new(),
        layouts: Map::new(),
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

/// The parts that differ in the error for a query that cannot continue.
fn differing(saved: &Value, own: &Value) -> Vec<(String, Value, Value)> {
    let Err(Error::OtherQuery { saved, own, .. }) = of(saved, own) else {
        panic!("{own} continues {saved}");
    };
    let parts = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
    let own = parts(&own);
    let is = |name: &String| own.get(name).cloned().unwrap_or_default();
    let parts = parts(&saved)
        .into_iter()
        .filter(|(name, was)| is(name) != *was);
    parts
        .map(|(name, was)| (name.clone(), was, is(&name)))
        .collect()
}

#[test]
fn what_cannot_be_continued_is_in_the_error() {
    let saved = sessions(9, &[("a", "sum", "x")]);
    let other = |name: &str, value: Value| with(saved.clone(), name, value);
    let typed = json!({"user": "string", "x": "float64"});
    let ruled = json!({"kind": "session", "gap": 10, "longest": 30});
    let own_gaps = json!({"kind": "session", "gap": null, "gap_column": "pause"});
    for (own, parts) in [
        (sessions(8, &[("a", "sum", "x")]), &["windows"]),
        (sessions(9, &[("a", "max", "x")]), &["aggregates"]),
        (other("keys", json!(["user", "id"])), &["keys"]),
        (
            other("time_type", json!("timestamp(ns,none)")),
            &["time_type"],
        ),
        (other("types", typed), &["types"]),
        (other("types", json!({"user": "int64"})), &["types"]),
        (
            other("inputs", json!({"column": "n", "count": 2})),
            &["inputs"],
        ),
        (other("windows", own_gaps), &["windows"]),
        (other("windows", ruled), &["windows"]),
    ] {
        let differing: Vec<String> = differing(&saved, &own)
            .into_iter()
            .map(|part| part.0)
            .collect();
        assert_eq!(differing, parts, "{own}");
    }
}

#[test]
fn an_aggregate_may_be_added_over_a_column_that_only_a_function_of_the_user_reads() {
    let functions = sessions(9, &[("f", "python", "x")]);
    let saved = with(functions, "types", json!({"user": "string"}));
    let own = sessions(9, &[("f", "python", "x"), ("m", "max", "x")]);
    for (saved, own, places) in [
        (&saved, &own, vec![Some(0), None]),
        (&own, &saved, vec![Some(0)]),
    ] {
        assert_eq!(of(saved, own).unwrap().aggregates, places);
    }
}

#[test]
fn an_option_that_only_a_later_version_knows_is_a_difference() {
    let own = sessions(9, &[("a", "sum", "x")]);
    let later = ("of_later".into(), json!(3), Value::Null);
    assert_eq!(
        differing(&with(own.clone(), "of_later", json!(3)), &own),
        [later]
    );
}

#[test]
fn a_query_that_cannot_be_read_is_in_the_error_as_it_is() {
    let saved = json!({"keys": ["user"], "aggregates": [{"name": "n", "function": "of_later"}]});
    let Err(Error::OtherQuery { saved: text, .. }) = of(&saved, &sessions(9, &[])) else {
        panic!("{saved} is read");
    };
    assert_eq!(text, saved.to_string());
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
fn ends_may_come_and_go_unless_the_gap_is_zero() {
    let query = |gap: i64, end: Option<&str>| {
        let plain = sessions(gap, &[("a", "sum", "x")]);
        end.map_or(plain.clone(), |end| with(plain, "end", json!(end)))
    };
    let ends = [None, Some("stop"), Some("stopped")];
    for (gap, longer) in [(9, 9), (9, 10), (0, 0), (0, 10)] {
        for (was, is) in ends.iter().flat_map(|was| ends.map(|is| (*was, is))) {
            let found = of(&query(gap, was), &query(longer, is));
            let may = gap > 0 || was.is_some() == is.is_some();
            assert_eq!(found.is_ok(), may, "{gap} {was:?} {is:?}");
        }
    }
    let differing = differing(&query(0, Some("stop")), &query(0, None));
    assert_eq!(differing, [("end".into(), json!("stop"), Value::Null)]);
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
    for (own, part) in [
        (typed("int16", "decimal(9,2)", "decimal(9,2)"), "user"),
        (typed("uint64", "decimal(9,2)", "decimal(9,2)"), "user"),
        (typed("int32", "decimal(9,3)", "decimal(9,3)"), "x"),
    ] {
        let differing = differing(&saved, &own);
        let types = differing.iter().find(|(name, ..)| name == "types");
        let (_, was, is) = types.unwrap();
        assert_ne!(was[part], is[part]);
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
fn emitting(emit: &str, every: Option<i64>) -> Fingerprint {
    let query = with(sessions(9, &[("a", "sum", "x")]), "emit", json!(emit));
    let query = every
        .iter()
        .fold(query, |query, every| with(query, "every", json!(every)));
    Fingerprint {
        text: query.to_string(),
        hash: String::new(),
        layouts: Map::new(),
    }
}

#[test]
fn updates_keep_a_pace() {
    let none = || emitting("update", None);
    let paced = |every: i64| emitting("update", Some(every));
    let close = emitting("close", None);
    for (saved, own, is_paced) in [
        (paced(7), paced(8), Some(true)),
        (paced(7), close, Some(true)),
        (none(), paced(8), Some(false)),
        (none(), none(), Some(false)),
        (paced(7), none(), None),
    ] {
        let found = own.continues(&saved.of_open_windows().text);
        match (found, is_paced) {
            (Ok(found), Some(is_paced)) => assert_eq!(found.is_paced, is_paced),
            (Err(Error::OtherQuery { saved, own, .. }), None) => {
                assert_eq!((saved.as_str(), own.as_str()), (PACED, UNPACED));
            }
            (found, _) => panic!("{found:?}"),
        }
    }
    let hash = |query: Fingerprint| query.of_open_windows().hash;
    assert_eq!(hash(paced(7)), hash(paced(8)));
    assert_ne!(hash(paced(7)), hash(none()));
}

#[test]
fn a_column_keeps_its_layout_and_earlier_builds_say_none() {
    let list = || json!({"x": "list(int64)"});
    let wide = || json!({"x": "decimal256(9,2)"});
    let query = |layouts: Value| with(sessions(9, &[("a", "last", "x")]), "layouts", layouts);
    for (saved, own, is_known) in [
        (list(), list(), true),
        (json!({}), list(), true),
        (list(), json!({"x": "array(int64,2)"}), false),
        (list(), json!({}), false),
        (wide(), wide(), true),
        (json!({}), wide(), false),
        (wide(), json!({}), false),
        (json!({}), json!({"x": "decimal256(39,2)"}), true),
    ] {
        let found = of(&query(saved.clone()), &query(own.clone()));
        assert_eq!(found.is_ok(), is_known, "{saved} {own}");
    }
}

#[test]
fn the_layouts_of_a_state_are_beside_its_specification() {
    let query = |x: &str| Fingerprint {
        text: sessions(9, &[("a", "last", "x")]).to_string(),
        hash: String::new(),
        layouts: Map::from_iter([("x".to_owned(), json!(x))]),
    };
    let opened = query("list(int64)").of_open_windows();
    assert!(!opened.text.contains("list"));
    assert_eq!(opened.layouts, query("list(int64)").layouts);
    assert!(query("list(int64)").has_other_layouts(&query("map(int64)").layouts));
    assert!(!query("list(int64)").has_other_layouts(&Map::new()));
}
