//! Sliding windows: for each record the window that ends at it, and the one that starts after it (rules 4).
//!
//! | module | does |
//! |---|---|
//! | [`plan`] | which windows there are, in closed form |
//! | [`batch`] | rows to windows, all at once: nothing is late |
//! | [`rule`] | what the user asked for |
//! | [`steps`] | decides: from the windows around a record to those that it makes |
//! | [`record`] | applies it, record by record, as Kafka Streams does |
//! | [`join`] | applies it to many records at once |

pub mod batch;
pub mod join;
pub mod plan;
pub mod record;
pub mod rule;
pub mod steps;
