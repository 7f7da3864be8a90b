//! Sliding windows. Each record has one window that ends at it and one that starts after it (rules
//! 4).
//!
//! | file | content |
//! |---|---|
//! | [`plan`] | computes the windows in closed form |
//! | [`frame`] | the part of a window that an aggregate covers |
//! | [`sliding_windows`] | the settings of a query |
//! | [`new_window_rules`] | decides which windows a record creates, from the windows around it |
//! | [`sliding_operator`] | the record-by-record operator, like Kafka Streams |
//! | `new_window` | stores the windows that a record creates |
//! | [`ending_windows`] | windows that end at records, from stored times of records |
//! | [`pending_merge`] | joins many records at once if their order cannot matter |

pub(crate) mod ending_windows;
pub(crate) mod frame;
mod new_window;
pub(crate) mod new_window_rules;
pub(crate) mod pending_merge;
pub(crate) mod plan;
pub(crate) mod sliding_operator;
pub mod sliding_windows;

#[cfg(test)]
pub(crate) mod tests;
