//! The rows of an input batch.
//!
//! | file | contents |
//! |---|---|
//! | `columns` | the columns of a batch that a query reads |
//! | [`records`] | rows with a key and a time, for batch queries; other rows are counted and excluded |
//! | [`faults`] | which rows are records, and why some of these are in no window |
//! | [`events`] | all rows in order, for the record operator |
//! | `gap_column`, `end_column` | the gap and the end of each record |
//! | `rule_columns` | where rules begin and end sessions, and the order of records of one time |

pub(crate) mod columns;
pub(crate) mod end_column;
pub(crate) mod events;
pub(crate) mod faults;
pub(crate) mod gap_column;
pub(crate) mod records;
pub(crate) mod rule_columns;
