//! Stores windows by key and time. Record operators read and write them, and queries read them.
//!
//! | file | content |
//! |---|---|
//! | [`entry`] | one stored window |
//! | [`key_table`] | keys: bytes to a small number and back |
//! | `key_windows` | the windows of one key, sorted as in rules 6.9 |
//! | `segments` | slices of time that list the keys with windows due in them |
//! | `changed_keys` | the keys of a segment whose windows changed |
//! | [`window_table`] | all windows: reads and writes |
//! | `closing` | closes windows and drops them |
//! | [`session_store`], [`window_store`] | queries of sessions and of sliding windows |
//!
//! A record costs one hash probe and touches only the windows of its own key. Closing walks the
//! segments that the close time enters. Expiry drops whole segments. Neither looks at other keys.

mod changed_keys;
mod closing;
pub(crate) mod entry;
pub(crate) mod key_table;
mod key_windows;
mod segments;
pub(crate) mod session_store;
pub(crate) mod window_store;
pub(crate) mod window_table;

#[cfg(test)]
mod tests;

pub(crate) use entry::{SessionEntry, StoreEntry, WindowEntry};
pub(crate) use key_table::StoreKey;
pub(crate) use segments::SegmentId;
pub(crate) use segments::segment_width;
pub(crate) use session_store::SessionStore;
pub(crate) use window_store::WindowStore;
pub(crate) use window_table::WindowTable;
