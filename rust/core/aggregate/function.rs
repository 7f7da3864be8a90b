//! An aggregate function: its name, the columns and options that it takes, what it needs to know
//! about the input, and the states of a call.
//!
//! Each function is a static of its own file in [`functions`](super::functions), next to its
//! states:
//!
//! ```text
//! pub static MODE: AggregateFunction = AggregateFunction {
//!     compares: 0..1,
//!     ranks: true,
//!     ..AggregateFunction::new("mode", |call| {
//!         let kind = call.value_type(0)?.kind();
//!         Ok(dispatch_kind!(kind, |V| resolved(Mode::<V>::default(), ResultType::OF_COLUMN)))
//!     })
//! };
//! ```

use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use super::Aggregate;
use super::result_type::ResultType;
use super::value_type::{NumberKind, ValueType};
use crate::core::error::{Error, Result};
use crate::core::time::Span;

/// The largest number of elements that a query may ask of a bounded list.
const MOST_ELEMENTS: u32 = 1_000_000;

/// An aggregate function. Two are equal if their names are.
#[derive(Debug)]
pub struct AggregateFunction {
    /// The name that a user calls.
    pub name: &'static str,
    /// How many columns it takes.
    pub columns: RangeInclusive<usize>,
    /// Whether the result depends on the order of rows with equal times.
    pub is_ordered: bool,
    /// The positions of the columns whose values are compared with each other.
    pub compares: Range<usize>,
    /// Whether it needs the order of these values, not only their equality.
    pub ranks: bool,
    /// Whether it takes `percentage`.
    pub takes_percentage: bool,
    pub(super) resolve: fn(&FunctionCall<'_>) -> Result<ResolvedFunction>,
}

impl PartialEq for AggregateFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for AggregateFunction {}

/// A call of a function: the columns and options that a query gives it.
#[derive(Clone, Debug)]
pub struct FunctionCall<'a> {
    /// The function's name.
    pub function: &'static str,
    /// The name of the result column.
    pub result: &'a str,
    /// The columns.
    pub columns: Vec<CallColumn<'a>>,
    /// The options.
    pub options: FunctionOptions,
}

/// A column in a call.
#[derive(Clone, Debug)]
pub struct CallColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type; none if no aggregate but `count` takes it.
    pub value_type: Option<ValueType>,
    /// Its type as errors show it.
    pub type_name: String,
}

/// The options of all functions. A function ignores the options of others, except `percentage`.
#[derive(Clone, Debug, Default)]
pub struct FunctionOptions {
    /// Whether `first`, `last` and `any_value` pass over nulls.
    pub ignore_nulls: bool,
    /// Whether `collect_list` keeps nulls.
    pub keep_nulls: bool,
    /// The shares of a percentile.
    pub percentage: Option<Shares>,
    /// How exact an approximation is.
    pub accuracy: Option<f64>,
    /// The largest number of elements of a list.
    pub most: Option<u32>,
    /// The steps of a funnel.
    pub funnel: Option<FunnelSteps>,
    /// The longest break within an active run, in ticks of the time column.
    pub limit: Option<Span>,
    /// What the breaks between active runs count.
    pub breaks: Option<Breaks>,
}

/// What the breaks between active runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Breaks {
    /// Each counts as long as the limit.
    #[default]
    Cut,
    /// They do not count.
    Drop,
}

/// The steps of a funnel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunnelSteps {
    /// The values of its column, step by step; empty if each step is a boolean column.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<StepValue>,
    /// The longest time from the first step to the last one; none: any. Microseconds in a query,
    /// ticks of the time column in a call.
    #[serde(default)]
    pub within: Option<i64>,
    /// Whether no other row may come in between.
    #[serde(default)]
    pub strict: bool,
    /// Whether rows of one time have ties, which order them. The query knows it.
    #[serde(skip)]
    pub ties: bool,
}

/// A value that a row has if it is a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StepValue {
    /// An integer.
    Integer(i64),
    /// A text.
    Text(String),
}

/// Shares of the values, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The shares.
    pub shares: Vec<f64>,
    /// Whether the result is a list with an element for each share.
    pub list: bool,
}

/// A resolved call.
pub struct ResolvedFunction {
    /// States without slots.
    pub states: Box<dyn Aggregate>,
    /// The type of the results.
    pub result: ResultType,
}

/// A resolved call.
pub(super) fn resolved(states: impl Aggregate, result: ResultType) -> ResolvedFunction {
    ResolvedFunction {
        states: Box::new(states),
        result,
    }
}

impl AggregateFunction {
    /// A function of one column that compares no values and does not depend on the order of rows.
    pub(super) const fn new(
        name: &'static str,
        resolve: fn(&FunctionCall<'_>) -> Result<ResolvedFunction>,
    ) -> Self {
        Self {
            name,
            columns: 1..=1,
            is_ordered: false,
            compares: 0..0,
            ranks: false,
            takes_percentage: false,
            resolve,
        }
    }

    /// The states and the result type of a call.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for the wrong number of columns or a wrong option, [`Error::ColumnType`]
    /// for a type that the function does not take.
    pub fn resolve(&self, call: &FunctionCall<'_>) -> Result<ResolvedFunction> {
        let count = call.columns.len();
        if !self.columns.contains(&count) {
            let allowed = match (self.columns.start(), self.columns.end()) {
                (from, &usize::MAX) => format!("{from} or more columns"),
                (from, to) => format!("{from} to {to} columns"),
            };
            return Err(call.refused_option("columns", count.to_string(), allowed));
        }
        self.check_percentage(call)?;
        (self.resolve)(call)
    }

    /// Checks that percentiles have shares from 0 to 1, and that nothing else has shares.
    fn check_percentage(&self, call: &FunctionCall<'_>) -> Result<()> {
        let percentage = call.options.percentage.as_ref();
        let shares = percentage.map(|percentage| &percentage.shares);
        let allowed = match (shares, self.takes_percentage) {
            (Some(shares), true) if shares.is_empty() => "at least one number",
            (Some(shares), true) if !shares.iter().all(|share| (0.0..=1.0).contains(share)) => {
                "numbers from 0 to 1"
            }
            (Some(_), true) | (None, false) => return Ok(()),
            (None, true) => "a number from 0 to 1, or several",
            (Some(_), false) => "none: only percentiles take it",
        };
        let got = shares.map_or("none".into(), |shares| format!("{shares:?}"));
        Err(call.refused_option("percentage", got, allowed.into()))
    }
}

impl FunctionCall<'_> {
    /// The type of a column.
    pub(super) fn value_type(&self, position: usize) -> Result<ValueType> {
        let column = self.columns.get(position);
        column
            .and_then(|column| column.value_type)
            .ok_or_else(|| self.refused_type(position, "types that Arrow's row format takes"))
    }

    /// The kind of a column of numbers, and what one unit of it is divided by: 100 for a decimal
    /// with two digits after the point, 1 for integers and floats.
    pub(super) fn number(&self, position: usize) -> Result<(NumberKind, f64)> {
        let value_type = self.value_type(position)?;
        match value_type {
            ValueType::Integer => Ok((NumberKind::Int, 1.0)),
            ValueType::Float => Ok((NumberKind::Float, 1.0)),
            _ => match value_type.decimal() {
                Some((_, scale)) => Ok((NumberKind::Wide, 10_f64.powi(scale.into()))),
                None => {
                    let allowed = "integers, floats and decimals of up to 38 digits";
                    Err(self.refused_type(position, allowed))
                }
            },
        }
    }

    /// How exact an approximation is, within its bounds.
    pub(super) fn accuracy(&self, default: f64, allowed: RangeInclusive<f64>) -> Result<f64> {
        let accuracy = self.options.accuracy.unwrap_or(default);
        if allowed.contains(&accuracy) {
            return Ok(accuracy);
        }
        let allowed = format!("{} to {}", allowed.start(), allowed.end());
        Err(self.refused_option("accuracy", accuracy.to_string(), allowed))
    }

    /// The largest number of elements of a list.
    pub(super) fn most(&self, least: u32) -> Result<usize> {
        match self.options.most {
            Some(most) if (least..=MOST_ELEMENTS).contains(&most) => Ok(most as usize),
            most => {
                let got = most.map_or("none".into(), |most| most.to_string());
                let allowed = format!("{least} to {MOST_ELEMENTS}");
                Err(self.refused_option("most", got, allowed))
            }
        }
    }

    /// The longest break within an active run.
    pub(super) fn limit(&self) -> Result<Span> {
        let limit = self.options.limit;
        limit.ok_or_else(|| self.refused_option("limit", "none".into(), "zero or more".into()))
    }

    /// The error for a column of a type that the function does not take.
    pub fn refused_type(&self, position: usize, allowed: &str) -> Error {
        let column = self.columns.get(position);
        Error::ColumnType {
            argument: format!("aggregate {:?}: {}", self.result, self.function),
            column: column
                .map(|column| column.name.to_owned())
                .unwrap_or_default(),
            got: column
                .map(|column| column.type_name.clone())
                .unwrap_or_default(),
            allowed: allowed.into(),
        }
    }

    fn refused_option(&self, option: &str, got: String, allowed: String) -> Error {
        Error::Argument {
            argument: format!("aggregate {:?}: {option}", self.result),
            got,
            allowed,
        }
    }
}
