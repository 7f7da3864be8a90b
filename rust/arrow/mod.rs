//! Arrow in and out. The only room, beside the binding, that names Arrow.
//!
//! Each folder uses the folders above it in this table and none below; `batch` and `stream` never
//! name each other.
//!
//! | folder | noun |
//! |---|---|
//! | [`array`](mod@array) | Arrow arrays and the columns of the core, types and their names, what holds of valid data |
//! | [`keys`] | key columns: their numbers, hashes and order |
//! | [`plan`] | the query as it was asked for, and resolved against the schema of its input |
//! | [`read`] | the rows of an input batch |
//! | [`format`](mod@format) | bytes that last: blocks of a shuffle, pages of a state |
//! | [`batch`] | queries over all rows of an input, on Spark and in-process |
//! | [`stream`] | the record operator, its snapshots, its queries |
//! | [`runs`] | sessions of a stream in close mode: partial ones are appended, and joined when they close |

pub mod array;
pub mod batch;
pub mod format;
pub mod keys;
pub mod plan;
pub mod read;
pub mod runs;
pub mod stream;
