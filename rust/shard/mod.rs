//! The sessions of a shard of a stream. The partial sessions of a micro-batch come together by sorting,
//! and never one by one.
//!
//! Where sessions are emitted once, when they close, and then leave, they are stored in parts (merge on
//! read). A micro-batch appends a run of its partial sessions to the segments of their reach. The parts
//! are joined when the close time enters their segment: then the sessions of the segment are whole, and
//! nothing that is stored goes on from them. What goes on in a later segment is carried there; the index
//! of later runs, keys and bounds without states, says so. A micro-batch reads the opened segment, the
//! segments that it opens, and such indexes where it opens one or has records that are behind.
//!
//! Otherwise they are joined at once. Each run of a segment has the whole sessions of a range of keys; of
//! the runs that a micro-batch reads, those in which a session has changed or left are written anew
//! (copy on write). The record operator stores its windows in the same way.
//!
//! A state of the other layout, or whose segments have another length, is read and written as a whole,
//! once.
//!
//! | file | noun |
//! |---|---|
//! | [`shard_sessions`] | the sessions of a shard: a micro-batch in, rows and changed pages out |
//! | `shard_state` | what a shard knows between two micro-batches |
//! | `clock` | stream time, counters, and what they close |
//! | `incoming` | the partial sessions of a micro-batch |
//! | `lateness` | which of them are late, and which stored sessions go on in later segments |
//! | `layout_parts` | sessions in parts: what is read, joined and appended |
//! | `layout_ranges` | whole sessions by ranges of keys: what is joined and written anew |
//! | `sorted_sessions` | sessions as sorted columns of pages |
//! | `key_names` | the sort keys of keys that have numbers |
//! | `changes` | the changes of sessions as rows |

mod changes;
mod clock;
mod incoming;
mod key_names;
mod lateness;
mod layout_parts;
mod layout_ranges;
pub mod shard_sessions;
mod shard_state;
mod sorted_sessions;
