//! Rows to sessions.

pub mod batch;
