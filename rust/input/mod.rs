//! The rows of an input batch.
//!
//! | file | noun |
//! |---|---|
//! | `columns` | the columns of a batch that a query reads |
//! | [`records`] | rows with a key and a time, for batch queries; all others are counted and left out |
//! | [`read_counters`] | how many rows were read, and left out |
//! | [`events`] | every row in its order, for the record operator |
//! | `gap_column` | each record's own gap |

pub(crate) mod columns;
pub mod events;
pub(crate) mod gap_column;
pub mod read_counters;
pub mod records;
