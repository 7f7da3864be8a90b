//! Session windows: records with pauses no longer than the gap between them (rules 2 and 3).
//!
//! | file | noun |
//! |---|---|
//! | [`batch`] | rows to sessions, all at once: nothing is late |
//! | [`coalesce`] | partial sessions of a key, joined where they touch |
//! | [`disorder`] | whether rows are better sorted first: a choice of speed |
//! | [`session_windows`] | the settings of a query |
//! | [`session_choice`] | the choice for a record and the sessions that it joins |
//! | [`session_operator`] | the operator, record by record, as Kafka Streams does it |
//! | [`pending_updates`] | many records at once, where their order cannot matter |

pub mod batch;
pub mod coalesce;
pub mod disorder;
pub mod pending_updates;
pub mod session_choice;
pub mod session_operator;
pub mod session_windows;
