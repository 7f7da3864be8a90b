//! Kafka Streams' session and sliding windows over Arrow batches.
//!
//! Read in this order; each line depends only on the lines above it:
//!
//! | module | noun |
//! |---|---|
//! | [`error`] | what can go wrong, with the facts as fields |
//! | [`time`], [`key`] | one point and one length of time, in ticks; a key's number |
//! | [`interrupt`], [`memory`] | stopping work that takes long; asking for memory before it is needed |
//! | [`window`], [`sort`] | bounds of windows, and every comparison of them; rows by key and time |
//! | [`aggregate`] | identity, lift, combine, lower; one aggregate a file |
//! | [`store`] | windows by key and time |
//! | [`operator`] | what record-by-record operators share: records, changes, counters, stream time |
//! | [`session`] | rows to sessions |
//! | [`sliding`] | rows to sliding windows |
//! | [`arrow`] | Arrow in and out: keys, values, packed blocks, results |
//! | `py` | the binding (feature `python`) |

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

pub mod aggregate;
pub mod arrow;
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

#[cfg(feature = "python")]
mod py;
