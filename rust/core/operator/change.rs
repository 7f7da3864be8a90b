//! One change of one window, as operators emit it.

use serde::{Deserialize, Serialize};

use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::store::StoreKey;
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
    /// Also emits each one as a window of its own, which is not stored (rules 6.3).
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
pub struct Change<'a> {
    /// The key's number in the store.
    pub key: StoreKey,
    /// The key.
    pub name: &'a [u8],
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
    pub known: bool,
}

/// A change of a window, before it is emitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowUpdate {
    /// The key's number in the store.
    pub key: StoreKey,
    /// The window.
    pub window: Window,
    /// The largest time of its records.
    pub time: Time,
    /// The slot of its states. `None` if the window is gone.
    pub slot: Option<Slot>,
    /// Whether the window was stored before.
    pub known: bool,
}

/// Receives changes in order.
///
/// A slot has its value only during the call. A sink must copy or lower what it keeps.
pub trait Sink<S> {
    /// Takes one change.
    ///
    /// # Errors
    ///
    /// The errors of copying or lowering the states.
    fn emit(&mut self, change: Change<'_>, states: &mut S) -> Result<()>;
}

impl<S, F: FnMut(Change<'_>, &mut S) -> Result<()>> Sink<S> for F {
    fn emit(&mut self, change: Change<'_>, states: &mut S) -> Result<()> {
        self(change, states)
    }
}
