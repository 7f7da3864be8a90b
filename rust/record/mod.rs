//! The record operator: every record in its order, as Kafka Streams does it, and the micro-batches of
//! Structured Streaming.
//!
//! | file | noun |
//! |---|---|
//! | [`operator`] | the operator |
//! | [`micro_batch`] | the records of one micro-batch, and stream time after it |
//! | [`over`] | the same of rows that come back, each with the sliding window that ends at it |
//! | `window_runs` | many of these windows at once |
//! | [`partials`] | the same of sessions, from partial ones |
//! | `judgement` | by which stream time records are judged |
//! | `state_store` | the windows and states that it works on |
//! | `windows` | the windows of either kind in it |
//! | `bulk` | records of many keys at once, where their order cannot matter |
//! | [`states`] | the states of built-in and Python aggregates |
//! | [`user_function`] | an aggregate that is not built in |
//! | `changes` | the changes of a batch |
//! | [`change_batch`] | changes as Arrow batches |
//! | [`checkpoint`] | its state between micro-batches, all of it or what one of them touches |
//! | [`snapshot`] | the state as pages, and which of them have changed |
//! | `saved_runs` | the runs of such a state, and which have changed |
//! | `window_pages` | the windows of a segment as pages, and back |
//! | [`store_query`] | stored windows as rows |

mod bulk;
pub mod change_batch;
pub(crate) mod changes;
pub mod checkpoint;
mod judgement;
pub mod micro_batch;
pub mod operator;
pub mod over;
pub mod partials;
mod saved_runs;
pub mod snapshot;
mod state_store;
pub mod states;
pub mod store_query;
pub mod user_function;
mod window_pages;
mod window_runs;
pub(crate) mod windows;
