//! The kind of windows of a query, in JSON.

use serde::{Deserialize, Serialize};

/// The kind of windows, with its parameters in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum WindowSpec {
    /// Session windows, with either `gap` or `gap_column`.
    Session {
        /// Inactivity gap.
        #[serde(default)]
        gap: Option<i64>,
        /// The duration column that holds each record's own gap.
        #[serde(default)]
        gap_column: Option<String>,
        /// The largest gap of `gap_column`. Larger gaps are cut to it. `None` cuts no gap.
        #[serde(default)]
        longest_gap: Option<i64>,
        /// What happens to a record whose gap is null or negative, or zero without ends.
        #[serde(default)]
        invalid_gap: InvalidValue,
        /// The largest duration of a session from start to end; none: any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest: Option<i64>,
        /// The boolean column that is true in the records that end their session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends: Option<String>,
        /// The boolean column that is true in the records that begin a session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begins: Option<String>,
        /// The columns whose change ends a session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut_on: Vec<String>,
        /// The time of day that ends sessions, in seconds after midnight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_at: Option<u32>,
        /// The zone of `cut_at`; none for times without a zone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// The largest number of records in a session; none: any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// Sliding windows.
    Sliding {
        /// Length of a window.
        difference: i64,
        /// How far after a record its right window starts; none: one tick of the time column.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<i64>,
    },
}

impl WindowSpec {
    /// The same windows without rules that end sessions.
    pub(crate) fn without_rules(&self) -> Self {
        match self {
            Self::Session {
                gap,
                gap_column,
                longest_gap,
                invalid_gap,
                ..
            } => Self::Session {
                gap: *gap,
                gap_column: gap_column.clone(),
                longest_gap: *longest_gap,
                invalid_gap: *invalid_gap,
                longest: None,
                ends: None,
                begins: None,
                cut_on: Vec::new(),
                cut_at: None,
                zone: None,
                most: None,
            },
            Self::Sliding { .. } => self.clone(),
        }
    }

    /// Whether sessions may end before their gap is over.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Session {
                longest,
                ends,
                begins,
                cut_on,
                cut_at,
                most,
                ..
            } => {
                let columns = ends.is_some() || begins.is_some() || !cut_on.is_empty();
                columns || longest.is_some() || cut_at.is_some() || most.is_some()
            }
            Self::Sliding { .. } => false,
        }
    }
}

/// What happens to a record whose gap or whose end is not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvalidValue {
    /// It is counted and left out.
    #[default]
    Drop,
    /// The query fails.
    Error,
}

impl InvalidValue {
    /// Whether such a record is left out.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub(super) fn is_dropped(&self) -> bool {
        *self == Self::Drop
    }
}
