//! Tests of this room.

mod bounds;
pub(crate) mod plan;
mod sliding_operator;
