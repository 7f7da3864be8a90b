//! The windows of an operator as the rows of a table, and back. One run of a daily job writes the
//! table, and the next run reads it. A stream may begin with it.
//!
//! | row | `window`, aggregates | `state` |
//! |---|---|---|
//! | an open window | for people to read | times, states, values of functions |
//! | a closed sliding window that later windows need | null | the same |
//! | the clock row | null, as the key is | stream time, the query, a count and a checksum of the rows |
//!
//! The payload of a window is the hash of the specification and the time of the run, the times of
//! the window, and for each aggregate the length of its states and the states in Arrow's row
//! format. So another query reads the aggregates that it has, and skips the others. The last
//! emission follows if the updates of the query have a pace.
//!
//! | file | content |
//! |---|---|
//! | `table` | an operator writes a table, and begins with one |
//! | `clock` | the clock row |
//! | `row` | the bytes of a row |
//! | `writer`, `reader` | windows as rows, and back |

pub(crate) mod clock;
pub(super) mod reader;
pub(crate) mod row;
mod table;
mod writer;
