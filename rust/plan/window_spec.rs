//! The kind of windows of a query, in JSON.

use serde::{Deserialize, Serialize};

/// The kind of windows, with its parameters in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum WindowSpec {
    /// Session windows.
    Session(SessionSpec),
    /// Sliding windows.
    Sliding {
        /// Length of a window.
        difference: i64,
        /// How far after a record its right window starts; none: one tick of the time column.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<i64>,
    },
}

/// Sessions, with either `gap` or `gap_column`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Inactivity gap.
    #[serde(default)]
    pub gap: Option<i64>,
    /// The duration column that holds each record's own gap.
    #[serde(default)]
    pub gap_column: Option<String>,
    /// The largest gap of `gap_column`. Larger gaps are cut to it. `None` cuts no gap.
    #[serde(default)]
    pub longest_gap: Option<i64>,
    /// What happens to a record whose gap is null or negative, or zero without ends.
    #[serde(default)]
    pub invalid_gap: InvalidValue,
    /// The largest duration of a session from start to end; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<i64>,
    /// The boolean column that is true in the records that end their session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
    /// The boolean column that is true in the records that begin a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
    /// The columns whose change ends a session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_on: Vec<String>,
    /// The time of day that ends sessions, in seconds after midnight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_at: Option<u32>,
    /// The zone of `cut_at`; none for times without a zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// `max_records`: the largest number of records in a session; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

impl WindowSpec {
    /// The sessions, unless the windows slide.
    pub(crate) fn session(&self) -> Option<&SessionSpec> {
        match self {
            Self::Session(session) => Some(session),
            Self::Sliding { .. } => None,
        }
    }

    /// The same windows without rules that end sessions.
    pub(crate) fn without_rules(&self) -> Self {
        match self {
            Self::Session(session) => Self::Session(SessionSpec {
                gap: session.gap,
                gap_column: session.gap_column.clone(),
                longest_gap: session.longest_gap,
                invalid_gap: session.invalid_gap,
                ..SessionSpec::default()
            }),
            Self::Sliding { .. } => self.clone(),
        }
    }

    /// Whether sessions may end before their gap is over.
    pub(crate) fn is_cut(&self) -> bool {
        *self != self.without_rules()
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
