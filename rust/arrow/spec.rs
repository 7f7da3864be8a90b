//! The query as it travels to executors: JSON, checked in shape here and against the input in [`super::query`].

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What a user asked for. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Key columns.
    pub keys: Vec<String>,
    /// The column of event times.
    pub time: String,
    /// The boolean column that marks ticks.
    #[serde(default)]
    pub tick: Option<String>,
    /// The kind of windows.
    pub windows: Windows,
    /// The aggregates, in the order of their columns.
    pub aggregates: Vec<Named>,
    /// Whether the result has an `op` column.
    #[serde(default)]
    pub op: bool,
    /// Number of shards.
    pub shards: u32,
}

/// The kind of windows, with its parameters in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Windows {
    /// Session windows of a fixed gap.
    Session {
        /// Inactivity gap.
        gap: i64,
    },
    /// Sliding windows.
    Sliding {
        /// Length of a window.
        difference: i64,
        /// How far after a record its right window starts.
        resolution: i64,
    },
}

/// An aggregate and the name of its column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name of the result column.
    pub name: String,
    /// Which aggregate.
    pub function: Function,
    /// Its input columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Whether `first`, `last` and `any_value` pass over nulls.
    #[serde(default)]
    pub ignore_nulls: bool,
}

/// The built-in aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as their Python functions")]
pub enum Function {
    Count,
    Sum,
    Mean,
    Min,
    Max,
    First,
    Last,
    AnyValue,
    Stddev,
    StddevPop,
    Variance,
    VarPop,
    CollectList,
    CollectSet,
    MinBy,
    MaxBy,
}

impl Function {
    /// Whether the answer depends on the order of rows with equal times.
    pub fn minds_arrival(self) -> bool {
        matches!(self, Self::First | Self::Last | Self::AnyValue | Self::CollectList | Self::MinBy | Self::MaxBy)
    }

    /// Which of the columns has its values compared with each other.
    pub fn compared(self) -> Option<usize> {
        match self {
            Self::Min | Self::Max | Self::CollectSet => Some(0),
            Self::MinBy | Self::MaxBy => Some(1),
            _ => None,
        }
    }
}

impl Spec {
    /// Reads a spec from JSON.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| Error::Format { what: "query", reason: error.to_string() })
    }
}
