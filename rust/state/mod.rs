//! What persists of a shard between two micro-batches: pages of windows, and a head that names them.
//!
//! | file | noun |
//! |---|---|
//! | [`page`] | a part of a segment, as sealed rows |
//! | `page_writer` | rows to pages |
//! | [`page_text`] | a page as text |
//! | `byte_planes` | the bytes of integers by their place |
//! | `head` | stream time and counters, as a page |
//! | `run_range` | the keys of each run |
//! | `stored_range` | such a run with its pages, and a place for new ones |
//! | `range_table` | the runs of segments that have a range of keys each |
//! | `touched` | those that a micro-batch touches |
//! | `range_writer` | sorted windows to such runs |
//! | `hexadecimal` | bytes as digits |
//! | `window_row` | stored windows as rows of pages |
//! | [`source_time`] | how far a source has come in a micro-batch |

pub(crate) mod byte_planes;
pub(crate) mod head;
mod hexadecimal;
pub mod page;
pub mod page_text;
pub(crate) mod page_writer;
pub(crate) mod range_table;
pub(crate) mod range_writer;
pub(crate) mod run_range;
pub mod source_time;
pub(crate) mod stored_range;
pub(crate) mod touched;
pub(crate) mod window_row;
