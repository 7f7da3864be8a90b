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
//! | [`page`] | a part of a segment, for a state |
//! | `page_writer` | rows to pages |
//! | `byte_planes` | the bytes of integers by their place |
//! | [`page_text`] | a page as text |
//! | `head` | stream time and counters, as a page |
//! | `run_range` | the keys of each run |
//! | `stored_range` | such a run with its pages, and a place for new ones |
//! | `range_table` | the runs of segments that have a range of keys each |
//! | `touched` | those that a micro-batch touches |
//! | `range_writer` | sorted windows to such runs |
//! | `hexadecimal` | bytes as digits |
//! | `window_row` | stored windows as rows of pages |

pub mod block;
pub(crate) mod block_reader;
pub(crate) mod byte_planes;
pub mod change_block;
mod column_encoding;
mod compressed;
pub mod envelope;
mod frame_of_reference;
pub(crate) mod head;
mod hexadecimal;
pub mod packed;
pub mod page;
pub mod page_text;
pub(crate) mod page_writer;
pub(crate) mod partial_sessions;
pub(crate) mod range_table;
pub(crate) mod range_writer;
pub(crate) mod run_range;
pub mod shard_key;
pub(crate) mod stored_range;
pub(crate) mod touched;
pub(crate) mod window_row;
