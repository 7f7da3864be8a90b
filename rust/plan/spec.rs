//! The query in the form that executors get, JSON. Its shape is checked here;
//! [`crate::plan::query`] checks it against the input.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::frame_spec::FrameSpec;
use super::left_out_spec::LeftOutSpec;
pub use super::window_spec::{InvalidValue, WindowSpec};
use crate::core::aggregate::function::{
    AggregateFunction, Breaks, FunctionOptions, FunnelSteps, Shares,
};
use crate::core::aggregate::functions;
use crate::core::aggregate::window_results::Overflow;
use crate::core::error::{Error, Result};
use crate::core::operator::change::{Emit, Late};

/// The largest number of shards.
pub(crate) const MOST_SHARDS: u32 = 1 << 16;

/// The aggregate that counts the records of partial sessions of a stream.
pub(crate) const RECORDS: &str = "windrow.records";

/// The largest number of inputs. Each has its own stream time, which is part of the state.
pub(crate) const MOST_INPUTS: u32 = 1 << 16;

/// A query. Lengths of time are in microseconds, unless it says nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Key columns.
    pub keys: Vec<String>,
    /// The column of event times.
    pub time: String,
    /// The column of the ends of records, of the type of times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// What happens to a record whose end is null or before its time.
    #[serde(default, skip_serializing_if = "InvalidValue::is_dropped")]
    pub invalid_end: InvalidValue,
    /// The integer column that orders records of one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tie: Option<String>,
    /// The boolean column that marks ticks.
    #[serde(default)]
    pub tick: Option<String>,
    /// The kind of windows.
    pub windows: WindowSpec,
    /// Whether lengths of time are in nanoseconds, as times are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nanoseconds: bool,
    /// The aggregates, in the order of their columns.
    pub aggregates: Vec<AggregateSpec>,
    /// Whether the result has an `op` column.
    #[serde(default)]
    pub op: bool,
    /// Number of shards. The query of a table of open windows has none.
    #[serde(default)]
    pub shards: u32,
    /// How long windows wait for late records; none: forever.
    #[serde(default)]
    pub grace: Option<i64>,
    /// How long closed windows at least stay visible.
    #[serde(default)]
    pub until: Option<i64>,
    /// When windows are emitted.
    #[serde(default)]
    pub emit: Emit,
    /// Whether each change of a window is emitted, and not only the last one of a batch.
    #[serde(default)]
    pub every_record: bool,
    /// How far stream time moves between two updates of a window, at least; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<i64>,
    /// What happens to late records.
    #[serde(default)]
    pub late: Late,
    /// Whether the records are all that there are, and come in the order of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// What happens to a result that does not fit its type.
    #[serde(default)]
    pub overflow: Overflow,
    /// The inputs of a cogroup.
    #[serde(default)]
    pub inputs: Option<CogroupSpec>,
    /// Kafka's treatment of null values, which only the driver has.
    #[serde(default)]
    pub kafka: Option<KafkaSemantics>,
    /// The integer column that numbers the source of each row, if the slowest source sets the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// How records in no window come back; none: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutSpec>,
    /// Whether a stream gives back its records, each with the sliding window that ends at it.
    #[serde(default, rename = "over", skip_serializing_if = "std::ops::Not::not")]
    pub returns_records: bool,
}

impl Spec {
    /// Whether records may be joined to partial sessions before late ones are found.
    pub(crate) fn takes_partials(&self) -> bool {
        let is_built_in = |aggregate: &AggregateSpec| aggregate.function != Function::Python;
        self.aggregates.iter().all(is_built_in)
            && self.inputs.is_none()
            && self.late == Late::Drop
            && !self.every_record
            && !self.is_cut()
    }

    /// Whether partial sessions come with the number of their records.
    pub(crate) fn counts_records(&self) -> bool {
        let last = self.aggregates.last();
        last.is_some_and(|aggregate| aggregate.name == RECORDS)
    }

    /// Whether sessions may end before their gap is over, or say how they ended.
    pub(crate) fn is_cut(&self) -> bool {
        let mut functions = self.aggregates.iter().map(|aggregate| aggregate.function);
        self.windows.is_cut() || functions.any(|function| function == Function::EndedBy)
    }
}

/// The inputs of a cogroup, interleaved in one batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CogroupSpec {
    /// The integer column that numbers the input of each row, from 0. The query of a table of open windows
    /// has none.
    #[serde(default)]
    pub column: String,
    /// How many inputs there are.
    pub count: u32,
    /// Whether they share one stream time. Records of all inputs then come in the order of time.
    #[serde(default)]
    pub one_time: bool,
}

/// What differs between Kafka and SQL (rules 6.4 and 6.5). With it, a single Python aggregate that
/// is null deletes its window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KafkaSemantics {
    /// The column of record values: sliding windows drop a record whose value is null.
    #[serde(default)]
    pub value: Option<String>,
    /// Whether a window that ends beyond the latest time shows that time, and is no error.
    #[serde(default)]
    pub saturate: bool,
}

/// An aggregate and the name of its column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregateSpec {
    /// Name of the result column.
    pub name: String,
    /// Which aggregate.
    pub function: Function,
    /// Its input columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Whether `first`, `last` and `any_value` skip nulls.
    #[serde(default)]
    pub ignore_nulls: bool,
    /// Whether `collect_list` keeps nulls in their places.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_nulls: bool,
    /// It sees only the records of this input of a cogroup; none: the records of all inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// It sees only the records where this boolean column is true; none: it sees all records.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The shares of `percentile` and `approx_percentile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage: Option<Percentage>,
    /// One over the relative error of `approx_percentile`, or the relative standard deviation of
    /// `approx_count_distinct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Number>,
    /// The largest number of elements in the list of `top_k`, `histogram_numeric` or `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// The steps of `funnel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funnel: Option<FunnelSteps>,
    /// The longest break within a run of `active_time` and `active_runs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// What the breaks between the runs of `active_time` count. Its states do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Breaks>,
    /// The times before a record that it covers; none: the window that ends at the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameSpec>,
}

impl AggregateSpec {
    /// A built-in aggregate over columns, without options.
    pub fn new(name: &str, function: &'static AggregateFunction, columns: &[&str]) -> Self {
        Self {
            name: name.into(),
            function: Function::BuiltIn(function),
            columns: columns.iter().map(|&column| column.into()).collect(),
            ignore_nulls: false,
            keep_nulls: false,
            input: None,
            filter: None,
            percentage: None,
            accuracy: None,
            most: None,
            funnel: None,
            limit: None,
            breaks: None,
            frame: None,
        }
    }

    /// Whether both have the same states: they differ at most in their names and frames.
    pub(crate) fn has_states_of(&self, other: &Self) -> bool {
        let unframed = |each: &Self| Self {
            name: String::new(),
            frame: None,
            ..each.clone()
        };
        self.function != Function::Python && unframed(self) == unframed(other)
    }

    /// The options of its function without the limit; lengths of time are in microseconds.
    pub(crate) fn options(&self) -> FunctionOptions {
        FunctionOptions {
            ignore_nulls: self.ignore_nulls,
            keep_nulls: self.keep_nulls,
            percentage: self.percentage.as_ref().map(Shares::from),
            accuracy: self.accuracy.as_ref().and_then(Number::as_f64),
            most: self.most,
            funnel: self.funnel.clone(),
            breaks: self.breaks,
            ..FunctionOptions::default()
        }
    }
}

/// Shares of the values, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Percentage {
    /// One share, whose result is a number.
    One(Number),
    /// Several shares, whose result is a list.
    Some(Vec<Number>),
}

impl From<&Percentage> for Shares {
    fn from(percentage: &Percentage) -> Self {
        let (numbers, list) = match percentage {
            Percentage::One(number) => (std::slice::from_ref(number), false),
            Percentage::Some(numbers) => (numbers.as_slice(), true),
        };
        let share = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
        Self {
            shares: numbers.iter().map(share).collect(),
            list,
        }
    }
}

/// The source of an aggregate's results. JSON has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Function {
    /// A function of the core.
    BuiltIn(&'static AggregateFunction),
    /// The key and the start of the window.
    WindowId,
    /// The rows of a window that come before a row, and the row itself.
    Position,
    /// The sessions of the key that come before this one, and this one.
    SessionNumber,
    /// Why a session ended.
    EndedBy,
    /// A function of the user.
    Python,
}

impl From<Function> for &'static str {
    fn from(function: Function) -> Self {
        match function {
            Function::BuiltIn(function) => function.name,
            Function::WindowId => "window_id",
            Function::Position => "position",
            Function::SessionNumber => "session_number",
            Function::EndedBy => "ended_by",
            Function::Python => "python",
        }
    }
}

impl TryFrom<String> for Function {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::by_name(&name)
    }
}

impl Function {
    /// The function of this name.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] if there is none.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            "window_id" => Ok(Self::WindowId),
            "position" => Ok(Self::Position),
            "session_number" => Ok(Self::SessionNumber),
            "ended_by" => Ok(Self::EndedBy),
            "python" => Ok(Self::Python),
            _ => functions::by_name(name)
                .map(Self::BuiltIn)
                .ok_or_else(|| Error::Format {
                    what: "function",
                    reason: format!("there is no aggregate {name:?}"),
                }),
        }
    }

    /// The function of the core.
    pub fn built_in(self) -> Option<&'static AggregateFunction> {
        match self {
            Self::BuiltIn(function) => Some(function),
            Self::WindowId
            | Self::Position
            | Self::SessionNumber
            | Self::EndedBy
            | Self::Python => None,
        }
    }

    /// Whether the result depends on the order of rows with equal times.
    pub fn is_ordered(self) -> bool {
        self == Self::Position || self.built_in().is_some_and(|function| function.is_ordered)
    }

    /// Whether the values of the column at this position are compared with each other.
    pub fn compares(self, position: usize) -> bool {
        self.built_in()
            .is_some_and(|function| function.compares.contains(&position))
    }
}

impl Spec {
    /// Reads a spec from JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a count out of range, [`Error::Format`] for text that is not a spec.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            bad_count(json).unwrap_or_else(|| Error::Format {
                what: "query",
                reason: error.to_string(),
            })
        })
    }
}

/// The error for a count in the text of a spec that a [`Spec`] cannot hold.
fn bad_count(json: &str) -> Option<Error> {
    let specification: Value = serde_json::from_str(json).ok()?;
    let counts = [
        ("/shards", "shards", MOST_SHARDS),
        ("/inputs/count", "inputs: count", MOST_INPUTS),
    ];
    counts.into_iter().find_map(|(pointer, argument, most)| {
        let count = specification
            .pointer(pointer)
            .filter(|count| count.is_number())?;
        let held = count
            .as_u64()
            .is_some_and(|count| u32::try_from(count).is_ok());
        (!held).then(|| wrong_count(argument, count, most))
    })
}

/// The error for a count that is not between 1 and `most`.
pub(crate) fn wrong_count(argument: &str, got: impl Display, most: u32) -> Error {
    Error::Argument {
        argument: argument.into(),
        got: got.to_string(),
        allowed: format!("1 to {most}"),
    }
}
