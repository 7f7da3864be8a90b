//! Kafka Streams' session and sliding windows over Arrow batches.
//!
//! Read the rooms in this order. A room uses only the rooms in the rows above its own, and
//! `tools/rust_rooms.py` checks it against this table:
//!
//! | room | contents |
//! |---|---|
//! | [`core`] | windows, aggregates and stores; only aggregates know Arrow |
//! | [`array`](mod@array) | Arrow arrays and which of them aggregates take, types and their names |
//! | [`keys`] | key columns: their numbers, hashes and order |
//! | [`plan`] | a query as the user wrote it, resolved against the schema of its input |
//! | [`input`] | the rows of an input batch |
//! | [`format`](mod@format) | bytes that travel: blocks of a shuffle, sealed batches |
//! | [`batch`], [`state`] | queries over a whole input; what persists of a shard of a stream |
//! | [`record`] | the operator that works record by record |
//! | [`shard`] | the sessions of one shard of a stream |
//! | `fuzz` | what reads bytes, as targets of a fuzzer (feature `fuzz`) |
//! | `py` | the Python binding (feature `python`) |
//!
//! Nothing is public but what the benches and the fuzzer use (features `bench` and `fuzz`).

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

mod array;
mod batch;
mod core;
mod format;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod input;
mod keys;
mod plan;
mod record;
mod shard;
mod state;

#[cfg(feature = "python")]
mod py;

/// What the benches use of the rooms.
#[cfg(feature = "bench")]
pub mod bench {
    pub use crate::batch::{merger::Merger, packer::Packer};
    pub use crate::core::aggregate::accumulators::Accumulators;
    pub use crate::core::aggregate::batch_states::BatchStates;
    pub use crate::core::aggregate::functions::count::Count;
    pub use crate::core::aggregate::functions::min_max::MinMax;
    pub use crate::core::aggregate::functions::sum::Sum;
    pub use crate::core::error::Result;
    pub use crate::core::interrupt::Interrupt;
    pub use crate::core::key::KeyId;
    pub use crate::core::operator::change::WindowChange;
    pub use crate::core::operator::counters::Counters;
    pub use crate::core::operator::record::Record;
    pub use crate::core::operator::stream_time::Source;
    pub use crate::core::operator::window_operator::{WindowKind, WindowOperator};
    pub use crate::core::session::batch::OpenSessions;
    pub use crate::core::session::session_windows::SessionWindows;
    pub use crate::core::sliding::sliding_windows::SlidingWindows;
    pub use crate::core::time::{Span, Time};
    pub use crate::core::window::Extent;
    pub use crate::format::packed;
    pub use crate::keys::KeyInterner;
    pub use crate::plan::{query::Query, spec::Spec};
    pub use crate::record::operator::Operator;
    pub use crate::shard::shard_sessions::ShardSessions;
    pub use crate::state::source_time::SourceTime;
}
