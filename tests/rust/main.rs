//! One binary for all Rust tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panic"
)]

mod accumulators;
mod aggregate_approx;
mod aggregate_choices;
mod aggregate_collections;
mod aggregate_frequencies;
mod aggregate_laws;
mod aggregate_products;
mod aggregate_shape;
mod aggregate_sums;
mod aggregate_trial;
mod aggregate_values;
mod aggregate_variance;
mod batch_states;
mod block_kinds;
mod bulk;
mod cases;
mod changed_runs;
mod cogroup;
mod cogroup_aggregates;
mod interrupt;
mod kafka;
mod kafka_model;
mod keys;
mod operator;
mod operator_batches;
mod packing;
mod page_damage;
mod page_restarts;
mod page_text;
mod pages;
mod query;
mod query_errors;
mod replay;
mod result_halves;
mod returned_records;
mod rows;
mod session_batch;
mod session_bounds;
mod session_cuts;
mod session_ranges;
mod session_runs;
mod sessions;
mod shard_stream;
mod sliding_bounds;
mod sliding_operator;
mod sliding_plan;
mod sorted;
mod sources;
mod store;
mod store_queries;
mod stream_time;
mod text_aggregates;
mod touched_runs;
mod values;
mod window;
mod window_members;
