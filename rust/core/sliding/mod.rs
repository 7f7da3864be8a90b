//! Sliding windows: for each record the window that ends at it, and the one that starts after it
//! (rules 4).
//!
//! | file | noun |
//! |---|---|
//! | [`plan`] | which windows there are, in closed form |
//! | [`batch`] | rows to windows, all at once: nothing is late |
//! | [`windows`] | the settings of a query |
//! | [`decide`] | the windows that a record creates, decided from those around it |
//! | [`record`] | the operator, record by record, as Kafka Streams does it |
//! | `new_window` | the windows that a record creates, in the store |
//! | [`over`] | the windows that end at the records of a stream, from the times of records |
//! | [`bulk`] | many records at once, where their order cannot matter |

pub mod batch;
pub mod bulk;
pub mod decide;
mod new_window;
pub mod over;
pub mod plan;
pub mod record;
pub mod windows;
