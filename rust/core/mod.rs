//! The core. It does not depend on Arrow.
//!
//! Read the rooms in this order. A room uses only rooms in the rows above it. `tools/rust_rooms.py`
//! checks this against the table:
//!
//! | room | what it holds |
//! |---|---|
//! | [`error`] | what can go wrong, with the facts as fields |
//! | [`time`], [`key`], [`interrupt`], [`memory`] | points and lengths of time in ticks; key numbers; stopping long work; asking for memory before it is needed |
//! | [`window`], [`sort`] | all comparisons of window bounds; rows by key and time |
//! | [`aggregate`] | identity, lift, combine, lower; one aggregate a file |
//! | [`store`] | windows by key and time |
//! | [`operator`] | what the record-by-record operators share: records, changes, counters, stream time |
//! | [`session`], [`sliding`] | rows to session windows; rows to sliding windows |

pub mod aggregate;
pub mod error;
pub mod interrupt;
pub mod key;
pub mod memory;
pub mod operator;
pub mod session;
pub mod sliding;
pub mod sort;
pub mod store;
pub mod time;
pub mod window;
