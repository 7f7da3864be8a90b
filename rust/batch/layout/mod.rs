//! The columns of blocks: each layout is written and read in one file.
//!
//! | file | a row of the block | columns after those of the keys |
//! |---|---|---|
//! | [`crate::format::partial_sessions`] | a partial session | `start`, `end`, `reach` of dynamic gaps, states |
//! | [`session_records`] | a record of a session query | `time`, `gap` where records have their own, `arrival` where it matters, inputs |
//! | [`sliding_records`] | a record of a sliding query | `time`, `arrival`, inputs |
//! | [`whole_rows`] | a row of a query for rows | (no keys: the columns of the input), `arrival` |
//!
//! Times and arrivals are int64. The columns have no names: a block is read by the query that wrote
//! it.

pub(super) mod session_records;
pub(super) mod sliding_records;
pub(super) mod whole_rows;
