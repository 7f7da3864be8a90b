//! Tests of this room.

pub(crate) mod cases;
mod kafka;
mod kafka_model;
mod replay;
mod sort;
pub(crate) mod text_aggregates;
mod window;
pub(crate) mod window_members;
