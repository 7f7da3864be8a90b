//! The record operator. It processes every record in order, like Kafka Streams, or micro-batches of
//! Structured Streaming.
//!
//! | file | content |
//! |---|---|
//! | [`operator`] | the operator |
//! | [`micro_batch`] | one micro-batch of records, then stream time moves |
//! | [`returned_records`] | a micro-batch that returns its rows, each with the sliding window that ends at it |
//! | `window_runs` | computes many of these windows at once |
//! | `judgement` | which stream time decides whether a record is late |
//! | `state_part` | how much of a saved state an operator has |
//! | `state_store` | the windows and states of the operator |
//! | `windows` | session or sliding windows |
//! | `bulk` | records of many keys at once, if their order cannot matter |
//! | [`operator_states`] | the states of built-in and user-defined aggregates |
//! | [`user_function`] | a user-defined aggregate |
//! | `changes` | the changes of a batch |
//! | `left_out` | the records of a batch that are in no window |
//! | [`change_batch`] | changes as Arrow batches |
//! | [`checkpoint`] | saves and restores the whole state, or the part that a micro-batch touches |
//! | `saved_windows` | changed windows as pages |
//! | `window_pages` | converts windows to columns of pages and back |
//! | `window_row` | a stored window as a row of a page |
//! | [`store_query`] | stored windows as rows |
//! | [`open`] | the windows as the rows of a table, which the next run of a daily job reads |

mod bulk;
pub(crate) mod change_batch;
pub(crate) mod changes;
pub(crate) mod checkpoint;
mod judgement;
pub(crate) mod left_out;
pub(crate) mod micro_batch;
pub(crate) mod open;
pub mod operator;
pub(crate) mod operator_states;
pub(crate) mod returned_records;
mod saved_windows;
mod state_part;
mod state_store;
pub(crate) mod store_query;
pub(crate) mod user_function;
mod window_pages;
mod window_row;
mod window_runs;
pub(crate) mod windows;

#[cfg(test)]
pub(crate) mod tests;
