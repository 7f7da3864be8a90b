//! Tests of this room.

mod bounds;
mod cut_ends;
pub(crate) mod cut_oracle;
mod cuts;
mod ends;
pub(crate) mod session_batch;
pub(crate) mod sessions;
