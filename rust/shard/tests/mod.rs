//! Tests of this room.

mod session_ranges;
mod session_runs;
pub(crate) mod shard_stream;
