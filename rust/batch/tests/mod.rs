//! Tests of this room.

mod block_kinds;
mod interrupt;
mod packing;
mod query;
mod query_errors;
mod result_halves;
mod rows;
