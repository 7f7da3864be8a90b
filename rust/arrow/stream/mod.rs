//! The record operator: every record in its order, as Kafka Streams does it.
//!
//! | file | noun |
//! |---|---|
//! | [`operator`] | the operator |
//! | `state_store` | the windows and states that it works on |
//! | `windows` | the windows of either kind in it |
//! | `bulk` | records of many keys at once, where their order cannot matter |
//! | [`states`] | the states of built-in and Python aggregates |
//! | [`user_function`] | an aggregate that is not built in |
//! | `changes` | the changes of a batch |
//! | [`change_batch`] | changes as Arrow batches |
//! | [`snapshot`] | the state as pages, and which of them have changed |
//! | `window_pages` | the windows of a segment as pages, and back |
//! | [`store_query`] | stored windows as rows |

mod bulk;
pub mod change_batch;
mod changes;
pub mod operator;
pub mod snapshot;
mod state_store;
pub mod states;
pub mod store_query;
pub mod user_function;
mod window_pages;
mod windows;
