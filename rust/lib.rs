//! Kafka Streams' session and sliding windows over Arrow batches.
//!
//! Read the rooms in this order. A room uses only the rooms in the rows above its own, and
//! `tools/rust_rooms.py` checks it against this table:
//!
//! | room | contents |
//! |---|---|
//! | [`core`] | windows, aggregates and stores on plain columns; no Arrow |
//! | [`array`](mod@array) | Arrow arrays and the columns of the core, types and their names |
//! | [`keys`] | key columns: their numbers, hashes and order |
//! | [`plan`] | a query as the user wrote it, resolved against the schema of its input |
//! | [`input`] | the rows of an input batch |
//! | [`format`](mod@format) | bytes that travel: blocks of a shuffle, sealed batches |
//! | [`batch`], [`state`] | queries over a whole input; what persists of a shard of a stream |
//! | [`record`] | the operator that works record by record |
//! | [`shard`] | the sessions of one shard of a stream |
//! | `py` | the Python binding (feature `python`) |

#![cfg_attr(
    not(feature = "python"),
    allow(dead_code, reason = "the binding uses most of the crate")
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

pub(crate) mod array;
pub mod batch;
pub mod core;
pub mod format;
pub(crate) mod input;
pub mod keys;
pub mod plan;
pub mod record;
pub mod shard;
pub mod state;

#[cfg(feature = "python")]
mod py;
