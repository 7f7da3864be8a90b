//! Tests of this room.

mod store;
mod store_queries;
