//! Queries over all rows of an input: nothing is late.
//!
//! | file | noun |
//! |---|---|
//! | `batch_operator` | what every query does with rows and blocks |
//! | `dispatch` | the operator of a query |
//! | `sessions`, `session_groups`, `session_rows` | session queries; their sessions with states; their rows |
//! | `sliding` | sliding queries |
//! | [`sliding_folds`] | rows in the order of time to sliding windows with functions of the user |
//! | `sort_rows` | queries for rows in the order of time |
//! | `over_rows` | queries that give the rows back, each with its window |
//! | `layout` | the columns of blocks, written and read |
//! | `shards` | the shards of keys |
//! | `pending` | rows that wait for the numbers of their keys, and for their sessions |
//! | `tuning` | when waiting rows are grouped: choices of speed |
//! | [`packer`], [`merger`], [`sorter`] | on Spark: rows to packed rows, these to windows or sorted rows |
//! | `in_process` | in this process |
//! | [`row_windows`] | in this process, with the window of each row |
//! | `window_batches` | windows in batches, taken by their positions |
//! | `window_columns` | columns of windows as columns of the rows in them |
//! | `partition`, `workers` | rows by parts of the keys; the threads of a run |
//! | `list_room` | room for the lists of overlapping windows |

pub(crate) mod batch_operator;
mod dispatch;
mod in_process;
mod layout;
pub(crate) mod list_room;
pub mod merger;
mod over_rows;
pub mod packer;
mod partition;
mod pending;
pub mod row_windows;
pub(crate) mod session_groups;
mod session_rows;
pub(crate) mod sessions;
mod shards;
mod sliding;
pub mod sliding_folds;
mod sort_rows;
pub mod sorter;
mod tuning;
mod window_batches;
mod window_columns;
mod workers;
