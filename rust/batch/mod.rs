//! Queries over all rows of an input. No row is late.
//!
//! | file | contents |
//! |---|---|
//! | `batch_operator` | the trait of all batch operators |
//! | `dispatch` | chooses the operator of a query |
//! | `sessions`, `session_groups`, `session_rows` | session queries; sessions with their states; the rows of sessions |
//! | `sliding`, [`row_buffer`] | sliding queries; all rows at once, from which they build windows |
//! | [`sliding_folds`] | user functions over sliding windows, from rows in time order |
//! | `sort_rows` | queries that return rows in time order |
//! | `returned_rows` | queries that return each row with its window |
//! | `positions`, `session_numbers` | the number of a row in its window, of a session among those of its key |
//! | `layout` | how blocks store columns |
//! | `shards` | the shards of keys |
//! | `pending` | rows that wait for key numbers or for sessions |
//! | `tuning` | when to group waiting rows; affects only speed |
//! | [`packer`], [`merger`] | on Spark: pack rows, then merge them into windows or sort them |
//! | `in_process` | runs a query in this process |
//! | [`row_windows`] | runs a query in this process and finds the window of each row |
//! | `window_batches` | windows in batches, accessed by position |
//! | `window_columns` | repeats the columns of windows for their rows |
//! | `partition`, `key_partition`, `workers` | partitions rows by key; the rows of one partition; the threads of a run |
//! | `list_room` | memory for the lists of overlapping windows |

pub(crate) mod batch_operator;
mod dispatch;
mod in_process;
mod key_partition;
mod layout;
pub(crate) mod list_room;
pub mod merger;
pub mod packer;
mod partition;
mod pending;
pub(crate) mod positions;
mod returned_rows;
pub(crate) mod row_buffer;
pub(crate) mod row_windows;
pub(crate) mod session_groups;
mod session_numbers;
mod session_rows;
pub(crate) mod sessions;
mod shards;
mod sliding;
pub(crate) mod sliding_folds;
mod sort_rows;
mod tuning;
mod window_batches;
mod window_columns;
mod workers;

#[cfg(test)]
mod tests;
