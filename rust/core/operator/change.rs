//! One change of one window, and what receives it.

use serde::{Deserialize, Serialize};

use super::session_end::SessionEnd;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::time::Time;
use crate::core::window::Window;

/// When windows are emitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emit {
    /// Emits each window once, when it closes.
    #[default]
    Close,
    /// Emits each change of a window.
    Update,
}

/// What happens to late records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Late {
    /// Counts them and leaves them out.
    #[default]
    Drop,
    /// Also emits each one as a separate window, which is not stored (rules 6.3).
    Emit,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The window is new or has a new value.
    Upsert,
    /// The window is gone: Kafka's tombstone.
    Delete,
    /// The window is closed, and this is its last value.
    Final,
    /// A late record alone.
    Late,
}

/// One change of one window.
#[derive(Clone, Copy, Debug)]
pub struct WindowChange {
    /// The window.
    pub window: Window,
    /// The time of the change, stamped like in Kafka: a session's end, or a sliding window's
    /// largest record time.
    pub time: Time,
    /// What happened.
    pub op: Op,
    /// The slot of its states. `None` for a deleted window.
    pub slot: Option<Slot>,
    /// Whether the window was stored before this change.
    pub was_stored: bool,
    /// How the session ended, in a query with rules for sessions.
    pub end: SessionEnd,
}

impl WindowChange {
    /// The new value of a window.
    pub(crate) fn upsert(window: Window, time: Time, slot: Slot, was_stored: bool) -> Self {
        Self {
            window,
            time,
            op: Op::Upsert,
            slot: Some(slot),
            was_stored,
            end: SessionEnd::default(),
        }
    }

    /// The deletion of a window.
    pub(crate) fn delete(window: Window, time: Time, was_stored: bool) -> Self {
        Self {
            window,
            time,
            op: Op::Delete,
            slot: None,
            was_stored,
            end: SessionEnd::default(),
        }
    }
}

/// Receives changes in order.
///
/// A slot has its value only during the call. A sink must copy or lower what it keeps.
pub trait Sink<S> {
    /// Takes one change of a window of the key `name`.
    fn emit(&mut self, name: &[u8], change: WindowChange, states: &mut S) -> Result<()>;
}

impl<S, F: FnMut(&[u8], WindowChange, &mut S) -> Result<()>> Sink<S> for F {
    fn emit(&mut self, name: &[u8], change: WindowChange, states: &mut S) -> Result<()> {
        self(name, change, states)
    }
}
