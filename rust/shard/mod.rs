//! The sessions of a shard of a stream, as sorted runs of partial sessions in the segments of their
//! reach. The partial sessions of a micro-batch come together by sorting, and never one by one.
//!
//! In close mode they are appended (merge on read), and joined when the close time enters their
//! segment:
//!
//! ```text
//!   segments   ── opened ──┼── 7 ─────────┼── 8 ─────────┼─▶ reach
//!                final     │ run 0, run 1 │ run 0        │
//!                          close time
//! ```
//!
//! Sessions of an opened segment are whole: nothing that is stored goes on from them. What goes on
//! in a later segment is carried there when its own segment is opened; the index of later runs,
//! keys and bounds without states, tells. A micro-batch reads the opened segment, the segments that
//! it opens, and such indexes where it opens one or has records that are behind.
//!
//! In update mode they are joined at once. Each run of a segment has the whole sessions of a range of
//! keys; of the runs that a micro-batch reads, those in which a session has changed or closed are
//! written anew (copy on write).
//!
//! | file | noun |
//! |---|---|
//! | [`shard_sessions`] | the sessions of a shard: a micro-batch in, rows and changed pages out |
//! | [`session_runs`] | those in close mode |
//! | [`session_updates`], `updates` | those in update mode; their changes as rows |
//! | `shard_state` | the query, stream time, counters and runs of a shard |
//! | `run_table` | the runs of each segment, and which of their pages are to be read |
//! | `changed_segment` | the runs of a segment that are written anew in update mode |
//! | `key_names` | the sort keys of keys that have numbers |
//! | `run_page` | a page of a run or of its index, as it was read |
//! | `run_writer` | sessions to pages |
//! | `incoming` | the partial sessions of a micro-batch |
//! | `later_sessions` | what is stored in later segments, and what goes on in it |
//! | `late_candidates` | partial sessions that are late unless a stored one goes on from them |
//! | `segment_grid` | the segments of reaches |
//! | `rows_by_key` | the rows of each key |

mod changed_segment;
mod incoming;
mod key_names;
mod late_candidates;
mod later_sessions;
mod rows_by_key;
mod run_page;
mod run_table;
mod run_writer;
mod segment_grid;
pub mod session_runs;
pub mod session_updates;
pub mod shard_sessions;
mod shard_state;
mod updates;
