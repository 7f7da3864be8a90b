//! The core. Only its aggregates know Arrow: what they take and give are Arrow arrays.
//!
//! Read the rooms in this order. A room uses only rooms in the rows above it. `tools/rust_rooms.py`
//! checks this against the table:
//!
//! | room | contents |
//! |---|---|
//! | [`error`] | the crate's errors, with the facts as fields |
//! | [`time`], [`key`], [`interrupt`], [`memory`] | times and spans in ticks; key numbers; interrupts; memory checks |
//! | [`window`], [`sort`] | whether windows join, are late or are closed; sorting rows by key and time |
//! | [`aggregate`] | identity, lift, combine, lower; one aggregate a file |
//! | [`store`] | windows by key and time |
//! | [`operator`] | shared by the operators: records, changes, counters, stream time |
//! | [`session`], [`sliding`] | session windows from rows; sliding windows from rows |

pub mod aggregate;
pub mod error;
pub mod interrupt;
pub mod key;
pub(crate) mod memory;
pub mod operator;
pub mod session;
pub mod sliding;
pub(crate) mod sort;
pub(crate) mod store;
pub mod time;
pub(crate) mod window;

#[cfg(test)]
pub(crate) mod tests;
