//! Session windows: records with pauses no longer than the gap between them (rules 2 and 3).
//!
//! | file | noun |
//! |---|---|
//! | [`batch`] | rows to sessions, all at once: nothing is late |
//! | [`coalesce`] | partial sessions of a key, joined where they touch |
//! | [`disorder`] | whether rows are better sorted first: a choice of speed |
//! | [`windows`] | the settings of a query |
//! | [`decide`] | the choice for a record and the sessions that it joins |
//! | [`record`] | the operator, record by record, as Kafka Streams does it |
//! | [`bulk`] | many records at once, where their order cannot matter |

pub mod batch;
pub mod bulk;
pub mod coalesce;
pub mod decide;
pub mod disorder;
pub mod record;
pub mod windows;
