//! Session windows: records with pauses no longer than the gap between them (rules 2 and 3).
//!
//! | module | does |
//! |---|---|
//! | [`batch`] | rows to sessions, all at once: nothing is late |
//! | [`coalesce`] | partial sessions of a key, joined where they touch |
//! | [`disorder`] | whether rows are better sorted first: a choice of speed |
//! | [`windows`] | what the user asked for |
//! | [`decide`] | decides: from the sessions a record joins to a choice |
//! | [`record`] | applies it, record by record, as Kafka Streams does |
//! | [`bulk`] | does the same for many records at once, where their order cannot matter |

pub mod batch;
pub mod bulk;
pub mod coalesce;
pub mod decide;
pub mod disorder;
pub mod record;
pub mod windows;
