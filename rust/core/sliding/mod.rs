//! Sliding windows: for each record the window that ends at it, and the one that starts after it
//! (rules 4).
//!
//! | file | noun |
//! |---|---|
//! | [`plan`] | which windows there are, in closed form |
//! | [`row_buffer`] | rows to windows, all at once: nothing is late |
//! | [`sliding_windows`] | the settings of a query |
//! | [`new_window_rules`] | the windows that a record creates, decided from those around it |
//! | [`sliding_operator`] | the operator, record by record, as Kafka Streams does it |
//! | `new_window` | the windows that a record creates, in the store |
//! | [`ending_windows`] | the windows that end at the records of a stream, from the times of records |
//! | [`pending_merge`] | many records at once, where their order cannot matter |

pub mod ending_windows;
mod new_window;
pub mod new_window_rules;
pub mod pending_merge;
pub mod plan;
pub mod row_buffer;
pub mod sliding_operator;
pub mod sliding_windows;
