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

mod entry;
mod keys;
mod segments;
mod sessions;
mod shelf;
mod shelves;
mod windows;

pub use entry::{Entry, SessionEntry, WindowEntry};
pub use keys::{Key, Keys};
pub use segments::Id;
pub use sessions::SessionStore;
pub use shelves::Store;
pub use windows::WindowStore;
