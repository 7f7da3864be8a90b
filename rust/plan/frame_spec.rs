//! The frame of an aggregate as the user wrote it.

use serde::{Deserialize, Serialize};

/// The times from `t - delay - difference` to `t - delay` of a record at `t`, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSpec {
    /// The distance between the two times.
    pub difference: i64,
    /// Which of the two times belong to it.
    pub closed: Closed,
    /// The distance from the second time to the record.
    pub delay: i64,
}

/// The bounds that belong to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Closed {
    /// Both bounds.
    Both,
    /// The first time.
    Left,
    /// The last time.
    Right,
    /// No bound.
    Neither,
}
