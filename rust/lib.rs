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
//! | [`session`] | rows to sessions |
//! | [`sliding`] | rows to sliding windows |
//! | [`arrow`] | Arrow in and out: keys, values, packed blocks, results |
//! | `py` | the binding (feature `python`) |

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod aggregate;
pub mod arrow;
pub mod error;
pub mod key;
pub mod session;
pub mod sliding;
pub mod sort;
pub mod time;
pub mod window;

#[cfg(feature = "python")]
mod py;
