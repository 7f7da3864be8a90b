//! Sliding windows: for each record the window that ends at it, and the one that starts after it
//! (rules 4).
//!
//! | module | does |
//! |---|---|
//! | [`plan`] | which windows there are, in closed form |
//! | [`batch`] | rows to windows, all at once: nothing is late |
//! | [`windows`] | what the user asked for |
//! | [`decide`] | decides: from the windows around a record to those that it makes |
//! | [`record`] | applies it, record by record, as Kafka Streams does |
//! | [`bulk`] | applies it to many records at once |

pub mod batch;
pub mod bulk;
pub mod decide;
pub mod plan;
pub mod record;
pub mod windows;
