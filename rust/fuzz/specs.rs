//! Queries as JSON.

use std::sync::Arc;

use arrow_schema::Schema;
use serde_json::Value;

use super::pages::continues;
use super::queries::{all, records};
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::record::operator::Operator;

/// A query. Runs it over some records if their columns fit.
pub(super) fn read_spec(bytes: &[u8]) -> bool {
    let Ok(json) = str::from_utf8(bytes) else {
        return false;
    };
    let Ok(spec) = Spec::parse(json) else {
        return false;
    };
    let written = serde_json::to_string(&spec).unwrap();
    assert_eq!(Spec::parse(&written).unwrap(), spec);
    let (records, never) = (records(), Interrupt::never());
    let schema = records.schema();
    let batches = || std::iter::once(Ok(records.clone()));
    let kinds: [fn(&Spec, &Schema) -> Result<Query>; 3] =
        [Query::new, Query::of_rows, Query::rows_with_windows];
    for query in kinds.iter().filter_map(|kind| kind(&spec, &schema).ok()) {
        drop(Arc::new(query).run(batches(), 1, &never));
    }
    if let Ok(query) = Query::with_rows(&spec, &schema) {
        drop(Arc::new(query).run_with_rows(batches(), 1, &never));
    }
    if let Ok(mut operator) = Operator::new(&spec, &schema, Vec::new()) {
        continues(&mut operator);
    }
    true
}

/// The queries of the other targets, and those of `tests/vectors`.
pub(super) fn specs() -> Vec<Vec<u8>> {
    let own = all().map(|(_, saved)| serde_json::to_vec(&saved.spec).unwrap());
    let stored = include_str!("../../tests/vectors/state-queries.jsonl").lines();
    let stored = stored.map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        serde_json::to_vec(&line["spec"]).unwrap()
    });
    own.chain(stored).collect()
}
