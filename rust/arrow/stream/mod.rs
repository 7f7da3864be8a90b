//! The record operator: every record in its order, as Kafka Streams does it.
//!
//! | file | noun |
//! |---|---|
//! | [`operator`] | the operator |
//! | `windows` | the windows of either kind in it |
//! | `bulk` | records of many keys at once, where their order cannot matter |
//! | [`states`] | the states of built-in and Python aggregates |
//! | [`user_function`] | an aggregate that is not built in |
//! | [`changes`] | the changes of a batch as rows |
//! | `snapshot` | the state as pages and back |
//! | [`store_query`] | stored windows as rows |

mod bulk;
pub mod changes;
pub mod operator;
mod snapshot;
pub mod states;
pub mod store_query;
pub mod user_function;
mod windows;
