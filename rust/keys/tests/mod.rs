//! Tests of this room.

mod keys;
mod sort_keys;
mod values;
