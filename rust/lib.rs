//! Kafka Streams' session and sliding windows over Arrow batches.
//!
//! Read in this order; each line depends only on the lines above it:
//!
//! | module | noun |
//! |---|---|
//! | [`error`] | what can go wrong, with the facts as fields |
//! | [`time`] | one point and one length of time, in ticks |
//! | [`window`] | bounds of windows, and every comparison of them |
//! | [`aggregate`] | identity, lift, combine, lower; one aggregate a file |
//! | [`stream_time`] | how far the input has come, and what that closes |
//! | [`store`] | windows by key and time |
//! | [`change`] | what an operator emits: one change of one window |
//! | [`record`] | a record as it arrives, and what becomes of it |
//! | [`counters`] | what an operator counts |
//! | [`session`] | rows to sessions |
//! | [`sliding`] | rows to sliding windows |
//! | [`arrow`] | Arrow in and out: keys, values, packed blocks, results |
//! | `py` | the binding (feature `python`) |

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod aggregate;
pub mod arrow;
pub mod change;
pub mod counters;
pub mod error;
pub mod key;
pub mod record;
pub mod session;
pub mod sliding;
pub mod sort;
pub mod store;
pub mod stream_time;
pub mod time;
pub mod window;

#[cfg(feature = "python")]
mod py;
