//! One binary for all Rust tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panic")]

mod aggregate_bank;
mod aggregate_choices;
mod aggregate_collections;
mod aggregate_laws;
mod aggregate_sums;
mod aggregate_trial;
mod aggregate_variance;
mod keys;
mod packing;
mod query;
mod query_errors;
mod session_batch;
mod sliding_plan;
mod values;
