//! Bytes that last: Arrow IPC with a version and a checksum.
//!
//! | file | noun |
//! |---|---|
//! | [`envelope`] | a batch with metadata and a checksum |
//! | `frame_of_reference` | integers in fewer bytes |
//! | `column_encoding` | times, nulls alone and one text in fewer bytes |
//! | [`change_block`] | changes on their way to the last step of a stream |
//! | `compressed` | the compressed buffers of a batch |
//! | [`block`] | rows of one shard, for the shuffle |
//! | `block_reader` | the columns of a block, one after the other |
//! | `partial_sessions` | partial sessions as columns |
//! | [`packed`] | blocks as rows that Spark shuffles and sorts |
//! | [`shard_key`] | what Spark knows a shard by |

pub mod block;
pub(crate) mod block_reader;
pub mod change_block;
mod column_encoding;
mod compressed;
pub mod envelope;
mod frame_of_reference;
pub mod packed;
pub(crate) mod partial_sessions;
pub mod shard_key;
