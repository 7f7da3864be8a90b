//! Rows to sliding windows.

pub mod batch;
pub mod plan;
