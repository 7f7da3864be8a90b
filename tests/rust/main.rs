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
mod cogroup_aggregates;
mod crowded;
mod feeds;
mod forms;
mod interrupt;
mod kafka;
mod kafka_model;
mod keys;
mod members;
mod operator;
mod packing;
mod page_damage;
mod page_restarts;
mod pages;
mod query;
mod query_errors;
mod replay;
mod rows;
mod session_batch;
mod session_bounds;
mod sessions;
mod slide_bounds;
mod slides;
mod sliding_plan;
mod sorted;
mod store;
mod store_queries;
mod stream_time;
mod texts;
mod values;
mod ways;
mod window;
