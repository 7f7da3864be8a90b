//! The columns of blocks. Each layout has one file that writes and reads it.
//!
//! | file | row of the block | columns after the keys |
//! |---|---|---|
//! | [`crate::format::partial_sessions`] | a partial session | `start`, `end`, `reach` of dynamic gaps, states |
//! | [`session_records`] | a record of a session query | `time`, `end` and `gap` if records have their own, `arrival` if it matters, inputs |
//! | [`sliding_records`] | a record of a sliding query | `time`, `arrival`, inputs |
//! | [`whole_rows`] | a row of a query for rows | (no keys: all input columns), `arrival` |
//!
//! Times and arrivals are int64. The columns have no names, because the query that writes a block
//! also reads it.

pub(super) mod session_records;
pub(super) mod sliding_records;
pub(super) mod whole_rows;
