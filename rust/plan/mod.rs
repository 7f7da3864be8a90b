//! The query: as the user wrote it, and resolved against the schema of its input.
//!
//! | file | content |
//! |---|---|
//! | [`spec`] | the query in the form that executors get, JSON |
//! | [`query`] | a spec resolved against a schema |
//! | [`function_failure`] | failures of functions of the user, as errors |
//! | [`window_lengths`] | the kind of windows, with its lengths in ticks of the time column |
//! | [`aggregate`] | one aggregate of a query |
//! | `length_unit` | the unit of lengths of time |
//! | [`frame_spec`] | the frame of an aggregate as the user wrote it |
//! | [`left_out_spec`] | how records in no window come back |
//! | [`frames`] | the aggregates of a query by the times that they cover |
//! | `resolve` | a call of an aggregate function over Arrow columns |
//! | [`results`] | batches of results, times and windows as text |
//! | [`window_spec`] | the kind of windows of a query, in JSON |
//! | `rule_sources` | the columns of rules for sessions |
//! | [`source_column`] | a column of the input that a query names |
//! | [`input_column`] | a column that aggregates take |
//! | [`cogroup`] | the column that numbers the input of each row of a cogroup |
//! | `rows_with_windows` | queries that give the rows back, each with its window |
//! | `window_id` | the id of a window |
//! | [`limits`] | how many rows and bytes wait before they move on |
//! | [`state_query`] | what of a query makes its state |
//! | [`continuation`] | which queries may continue a table of open windows |
//! | `wider_types` | the types of columns that may grow |

pub(crate) mod aggregate;
pub(crate) mod cogroup;
pub(crate) mod continuation;
pub mod frame_spec;
pub(crate) mod frames;
pub(crate) mod function_failure;
pub(crate) mod input_column;
pub mod left_out_spec;
mod length_unit;
pub(crate) mod limits;
pub mod query;
mod resolve;
pub(crate) mod results;
pub(crate) mod rows_with_windows;
pub(crate) mod rule_sources;
pub(crate) mod source_column;
pub mod spec;
pub(crate) mod state_query;
mod wider_types;
mod window_id;
pub(crate) mod window_lengths;
pub mod window_spec;

#[cfg(test)]
mod tests;
