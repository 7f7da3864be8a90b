//! The sessions of a shard of a stream. Partial sessions of a micro-batch are joined in bulk by
//! sorting, never one by one.
//!
//! If sessions are emitted once on close and then removed, the shard stores parts of sessions
//! (merge on read). A micro-batch appends a run of its partial sessions to the segment of their
//! reach. The close time opens a segment when it enters it. Only then are the parts in the segment
//! joined. Some of these sessions may continue in a later segment. The shard finds them by the
//! indexes of later runs, which have keys and bounds without states, and carries them to that
//! segment. The other sessions of an opened segment are complete. A micro-batch reads the segments
//! opened before and now. It also reads the indexes, if it opens a segment or has records behind
//! the close time.
//!
//! Otherwise sessions are joined at once. Each run of a segment has the whole sessions of a range
//! of keys. A micro-batch rewrites the runs in which a session changes or leaves (copy on write). It
//! joins only the sessions of its keys. The others stay in the columns of their page.
//! The record operator stores its windows in the same way.
//!
//! A state with the other layout or another segment length is read and rewritten once, as a whole.
//!
//! | file | content |
//! |---|---|
//! | [`shard_sessions`] | the sessions of a shard: a micro-batch in, rows and changed pages out |
//! | `shard_state` | the memory of a shard between two micro-batches |
//! | `clock` | stream time and counters, and which sessions close |
//! | `micro_batch` | a micro-batch between two calls |
//! | `incoming` | the partial sessions of a micro-batch |
//! | `whole_records` | the records of a micro-batch that come themselves, if late records come back |
//! | `judged_records` | those of them that may be late |
//! | `lateness` | which partial sessions are late, and which sessions continue in later segments |
//! | `layout_parts` | sessions in parts: reads, joins and appends them |
//! | `layout_ranges` | whole sessions by ranges of keys: reads, joins and rewrites them |
//! | `touched_sessions` | which stored sessions a micro-batch touches |
//! | `sorted_sessions` | sessions as sorted columns of pages |
//! | `key_names` | the sort keys of numbered keys |
//! | `session_changes` | the changes of sessions as rows |
//! | `session_pace` | which changes leave, if updates have a pace |

mod clock;
mod incoming;
mod judged_records;
mod key_names;
mod lateness;
mod layout_parts;
mod layout_ranges;
mod micro_batch;
mod session_changes;
mod session_pace;
pub mod shard_sessions;
mod shard_state;
mod sorted_sessions;
mod touched_sessions;
mod whole_records;

#[cfg(test)]
pub(crate) mod tests;
