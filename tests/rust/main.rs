//! One binary for all Rust tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panic"
)]

mod aggregate_bank;
mod aggregate_choices;
mod aggregate_collections;
mod aggregate_laws;
mod aggregate_sums;
mod aggregate_trial;
mod aggregate_variance;
mod batch_states;
mod cases;
mod cogroup;
mod feeds;
mod forms;
mod interrupt;
mod kafka;
mod keys;
mod members;
mod operator;
mod packing;
mod pages;
mod query;
mod query_errors;
mod replay;
mod rows;
mod session_batch;
mod sessions;
mod slides;
mod sliding_plan;
mod sorted;
mod store;
mod stream_time;
mod texts;
mod values;
mod ways;
mod window;
