//! Windows by key and time: what the record operators read and write, and what queries read.
//!
//! | file | noun |
//! |---|---|
//! | [`entry`] | one stored window |
//! | [`key_table`] | keys: bytes to a small number and back |
//! | `key_windows` | the windows of one key, in the order of rules 6.9 |
//! | `segments` | slices of time that list the keys with windows due in them |
//! | `changed_keys` | the keys of a segment whose windows have changed |
//! | [`window_table`] | all windows: reads and writes |
//! | `closing` | how windows close, and how they leave |
//! | [`session_store`], [`window_store`] | queries of sessions and of sliding windows |
//!
//! A record costs one hash probe and touches the windows of its own key only. Closing walks the
//! segments that the close time enters, expiry drops whole segments; neither looks at other keys.

mod changed_keys;
mod closing;
pub mod entry;
pub mod key_table;
mod key_windows;
mod segments;
pub mod session_store;
pub mod window_store;
pub mod window_table;

pub use changed_keys::ChangedKeys;
pub use entry::{SessionEntry, StoreEntry, WindowEntry};
pub use key_table::{KeyTable, StoreKey};
pub use segments::SegmentId;
pub(crate) use segments::segment_width;
pub use session_store::SessionStore;
pub use window_store::WindowStore;
pub use window_table::WindowTable;
