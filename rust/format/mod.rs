//! Serialized batches: Arrow IPC with a version and a checksum.
//!
//! | file | content |
//! |---|---|
//! | [`envelope`] | a batch with metadata and a checksum |
//! | `frame_of_reference` | stores integers in fewer bytes |
//! | `column_encoding` | stores times, and columns of nulls or of one text, in fewer bytes |
//! | [`change_block`] | blocks of changes for the last step of a stream |
//! | `compressed` | checks the lengths of compressed buffers |
//! | [`block`] | rows of one shard, for the shuffle |
//! | `block_reader` | reads the columns of a block |
//! | `partial_sessions` | partial sessions as columns |
//! | [`packed`] | blocks as rows for Spark to shuffle and sort |
//! | [`shard_key`] | the key of a shard in Spark |

pub(crate) mod block;
pub(crate) mod block_reader;
pub(crate) mod change_block;
mod column_encoding;
mod compressed;
pub(crate) mod envelope;
mod frame_of_reference;
pub mod packed;
pub(crate) mod partial_sessions;
pub(crate) mod shard_key;
