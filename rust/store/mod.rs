//! Windows by key and time: what the record operators stand on, and what queries read.
//!
//! ```text
//!   keys       bytes <-> number            one hash probe per record
//!   shelves    number -> windows of the key, in the order of their places
//!   segments   slice of time -> keys       by a session's reach, by a window's start
//! ```
//!
//! A record touches its own key's shelf only. Closing walks the segments that the close time
//! passes, expiry drops whole segments; neither looks at any other key.

mod closing;
mod entry;
mod key_table;
mod key_windows;
mod segments;
mod session_store;
mod window_store;
mod window_table;

pub use entry::{Entry, SessionEntry, WindowEntry};
pub use key_table::{KeyTable, StoreKey};
pub use segments::SegmentId;
pub use session_store::SessionStore;
pub use window_store::WindowStore;
pub use window_table::WindowTable;
