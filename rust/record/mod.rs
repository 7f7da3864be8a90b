//! The record operator: every record in its order, as Kafka Streams does it, and the micro-batches of
//! Structured Streaming.
//!
//! | file | noun |
//! |---|---|
//! | [`operator`] | the operator |
//! | [`micro_batch`] | the records of one micro-batch, and stream time after it |
//! | [`over`] | the same of rows that come back, each with the sliding window that ends at it |
//! | `window_runs` | many of these windows at once |
//! | `judgement` | by which stream time records are judged |
//! | `state_part` | how much of such a state an operator has |
//! | `state_store` | the windows and states that it works on |
//! | `windows` | the windows of either kind in it |
//! | `bulk` | records of many keys at once, where their order cannot matter |
//! | [`states`] | the states of built-in and Python aggregates |
//! | [`user_function`] | an aggregate that is not built in |
//! | `changes` | the changes of a batch |
//! | [`change_batch`] | changes as Arrow batches |
//! | [`checkpoint`] | its state between micro-batches, all of it or what one of them touches |
//! | `saved_windows` | the windows that have changed, as pages |
//! | `window_pages` | windows as columns of pages, and back |
//! | `window_row` | a stored window as a row of them |
//! | [`store_query`] | stored windows as rows |

mod bulk;
pub mod change_batch;
pub(crate) mod changes;
pub mod checkpoint;
mod judgement;
pub mod micro_batch;
pub mod operator;
pub mod over;
mod saved_windows;
mod state_part;
mod state_store;
pub mod states;
pub mod store_query;
pub mod user_function;
mod window_pages;
mod window_row;
mod window_runs;
pub(crate) mod windows;
