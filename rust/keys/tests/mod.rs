//! Tests of this room.

mod keys;
mod values;
