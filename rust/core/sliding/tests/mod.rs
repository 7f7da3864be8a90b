//! Tests of this room.

mod bounds;
mod frame;
pub(crate) mod plan;
mod sliding_operator;
