//! Session windows. Pauses between the records of a session are at most the gap (rules 2 and 3).
//!
//! | file | content |
//! |---|---|
//! | [`batch`] | builds sessions from all rows at once; nothing is late |
//! | [`coalesce`] | joins partial sessions of a key that touch |
//! | [`disorder`] | whether to sort rows first; affects speed only |
//! | [`cut`], [`day_borders`] | rules that end sessions; where days end |
//! | [`cut_sessions`], [`cut_operator`] | sessions that rules end, from all rows at once; record by record |
//! | [`session_windows`] | the settings of a query |
//! | [`session_choice`] | decides what a record does to the sessions it joins |
//! | [`session_operator`] | the record-by-record operator, like Kafka Streams |
//! | [`pending_changes`] | joins many records at once if their order cannot matter |

pub mod batch;
pub(crate) mod coalesce;
pub mod cut;
pub mod cut_operator;
pub mod cut_sessions;
pub mod day_borders;
pub(crate) mod disorder;
pub(crate) mod pending_changes;
pub(crate) mod session_choice;
pub(crate) mod session_operator;
pub mod session_windows;

#[cfg(test)]
pub(crate) mod tests;
