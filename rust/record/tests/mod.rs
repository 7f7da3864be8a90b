//! Tests of this room.

mod book;
mod bulk;
mod changed_runs;
mod cogroup;
mod ends;
mod functions;
mod joined_runs;
mod open_damage;
mod operator;
pub(crate) mod operator_batches;
mod page_damage;
mod page_restarts;
mod pages;
mod returned_records;
mod sources;
pub(crate) mod touched_runs;
