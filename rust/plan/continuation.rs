//! How a query continues the open windows of another one.
//!
//! | part of the query | another query |
//! |---|---|
//! | keys, rules that end sessions, lengths other than the gap, the time's unit, the kind of windows, the number of inputs | must have the same |
//! | the types of columns | may have wider ones ([`super::wider_types`]), and those of values narrower ones where results stay the same |
//! | a fixed gap | may have a longer one |
//! | the column of ends | may have one or not, unless the gap is zero |
//! | aggregates | may lack some, and may have more |
//! | `every` | may have another one. Updates cannot lose it, because rows of a window may wait |
//! | all others | may differ |

use std::ops::Range;

use arrow_schema::DataType;
use serde_json::Value;

use super::rows_with_windows::ROWS;
use super::spec::{AggregateSpec, CogroupSpec, Function, Spec};
use super::state_query::{Fingerprint, StateQuery, known_layouts, with_layouts};
use super::wider_types::columns_of;
use super::window_spec::WindowSpec;
use crate::core::error::{Error, Result};
use crate::core::operator::change::Emit;

/// A table of open windows, in errors.
const OPEN: &str = "open";

/// What differs if updates lose their pace: rows of a window that wait would never leave.
pub(super) const PACED: &str = r#"{"paced":true}"#;
pub(super) const UNPACED: &str = r#"{"paced":false}"#;

/// The type of a column, and its layout if it is nested.
type TypeAndLayout<'q> = [Option<&'q Value>; 2];

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
    /// How this query continues open windows of the query with the specification `saved`.
    pub(crate) fn continues(&self, saved: &str) -> Result<Continuation> {
        let own = with_layouts(&self.text, &self.layouts);
        let refused = |saved: &str, own: &str| Error::OtherQuery {
            state: OPEN,
            saved: saved.into(),
            own: own.into(),
        };
        let read = |text: &str| serde_json::from_str::<StateQuery>(text).ok();
        let (Some(mut was), Some(mut is)) = (read(saved), read(&own)) else {
            return Err(refused(saved, &own));
        };
        let is_paced = std::mem::take(&mut was.paced);
        if is_paced && is.spec.emit == Emit::Update && is.spec.every.is_none() {
            return Err(refused(PACED, UNPACED));
        }
        Spec::in_one_unit(&mut was.spec, &mut is.spec);
        let narrower_keys = was.narrower_keys(&is);
        was.widen(&is);
        was.layouts = known_layouts(was.layouts, &is.layouts);
        was.take_end(&is);
        let shorter_gap = lengthen(&mut was.spec.windows, &is.spec.windows);
        was.take_independent(&is);
        let (before, after) = (was.of(0..0), is.of(0..0));
        if before != after {
            return Err(before.refused(OPEN, &after));
        }
        Ok(Continuation {
            aggregates: was.places_of(&is)?,
            shorter_gap,
            is_paced,
            in_nanoseconds: is.spec.nanoseconds,
            narrower_keys,
        })
    }
}

/// Gives sessions without rules the gap of `own` if that is longer, and returns the gap that they had.
fn lengthen(saved: &mut WindowSpec, own: &WindowSpec) -> Option<i64> {
    let may_grow = !saved.is_cut() && !own.is_cut();
    match (saved, own) {
        (WindowSpec::Session(saved), WindowSpec::Session(own)) if may_grow => {
            let is_longer = saved.gap.is_some() && own.gap > saved.gap;
            is_longer.then(|| std::mem::replace(&mut saved.gap, own.gap))?
        }
        _ => None,
    }
}

/// Takes the name of a column from `own` if both queries have one.
fn rename(saved: &mut Option<String>, own: &Option<String>) {
    if let (Some(was), Some(is)) = (saved, own) {
        was.clone_from(is);
    }
}

impl StateQuery {
    /// Takes the column of ends from `own`, which may also have none. With a gap of zero, ends decide
    /// which records are in one session at all, so it only takes the name.
    fn take_end(&mut self, own: &Self) {
        match self.spec.windows.session().and_then(|own| own.gap) {
            Some(0) => rename(&mut self.spec.end, &own.spec.end),
            _ => self.spec.end.clone_from(&own.spec.end),
        }
    }

    /// Takes from `own` all that open windows do not depend on.
    fn take_independent(&mut self, own: &Self) {
        let (was, is) = (&mut self.spec, &own.spec);
        rename(&mut was.tie, &is.tie);
        if let (Some(was), Some(is)) = (&mut was.inputs, &is.inputs) {
            *was = CogroupSpec {
                count: was.count,
                ..is.clone()
            };
        }
        if let (WindowSpec::Session(was), WindowSpec::Session(is)) = (&mut was.windows, &is.windows)
        {
            (was.longest_gap, was.invalid_gap) = (is.longest_gap, is.invalid_gap);
            rename(&mut was.gap_column, &is.gap_column);
            rename(&mut was.ends, &is.ends);
            rename(&mut was.begins, &is.begins);
        }
        let was = was.clone();
        self.spec = Spec {
            keys: was.keys,
            end: was.end,
            tie: was.tie,
            windows: was.windows,
            nanoseconds: was.nanoseconds,
            aggregates: was.aggregates,
            whole: was.whole,
            inputs: was.inputs,
            returns_records: was.returns_records,
            ..is.clone()
        };
        self.time_zone.clone_from(&own.time_zone);
    }

    /// Whether the values of a column are in windows: of keys, and of columns whose change ends a session.
    pub(super) fn is_fixed(&self, column: &String) -> bool {
        let sessions = self.spec.windows.session();
        sessions.is_some_and(|own| own.cut_on.contains(column)) || self.spec.keys.contains(column)
    }

    /// The query with some of its aggregates, and the types of the columns that these and windows have.
    fn of(&self, aggregates: Range<usize>) -> Self {
        let mut of = self.clone();
        of.spec.aggregates = self
            .spec
            .aggregates
            .get(aggregates.clone())
            .unwrap_or_default()
            .to_vec();
        of.results = self.results.get(aggregates).unwrap_or_default().to_vec();
        let is_read = |name: &String| {
            of.spec
                .aggregates
                .iter()
                .flat_map(columns_of)
                .any(|column| column == name)
        };
        of.types
            .retain(|name, _| self.is_fixed(name) || is_read(name));
        of.layouts.retain(|name, _| of.types.contains_key(name));
        of
    }

    /// What the states of each aggregate depend on: the aggregate without its name, the type of its
    /// result, and those of its columns. A function of the user gets values of any type. The types have
    /// one of its columns only if another aggregate reads that column, too.
    fn states(&self) -> Vec<(AggregateSpec, &String, Vec<TypeAndLayout<'_>>)> {
        let states = |(aggregate, result)| {
            let unnamed = AggregateSpec {
                name: String::new(),
                ..AggregateSpec::clone(aggregate)
            };
            let reads = |_: &_| aggregate.function != Function::Python;
            let columns = columns_of(aggregate).filter(reads);
            let types = columns.map(|column| [self.types.get(column), self.layouts.get(column)]);
            (unnamed, result, types.collect())
        };
        self.spec
            .aggregates
            .iter()
            .zip(&self.results)
            .map(states)
            .collect()
    }

    /// For each aggregate of `own` the place of its states in this query. Functions of the user have their
    /// names only.
    fn places_of(&self, own: &Self) -> Result<Vec<Option<usize>>> {
        let (was, is) = (self.states(), own.states());
        if was == is {
            return Ok((0..is.len()).map(Some).collect());
        }
        let place_of = |name: &str| {
            self.spec
                .aggregates
                .iter()
                .position(|each| each.name == name)
        };
        let has_rows = own.spec.aggregates.iter().any(|each| each.name == ROWS);
        if has_rows != place_of(ROWS).is_some() {
            return Err(self.refused(OPEN, own));
        }
        let places = own.spec.aggregates.iter().zip(&is).enumerate();
        let place = |(nth, (aggregate, states)): (usize, (&AggregateSpec, &_))| match place_of(
            &aggregate.name,
        ) {
            Some(place) if was.get(place) == Some(states) => Ok(Some(place)),
            Some(place) => Err(self
                .of(place..place + 1)
                .refused(OPEN, &own.of(nth..nth + 1))),
            None if aggregate.function == Function::Python => Ok(None),
            None => Ok(was.iter().position(|each| each == states)),
        };
        places.map(place).collect()
    }
}
