//! What persists of a shard between two micro-batches: pages of windows, and a head that names them.
//! Windows come and go as columns; what becomes of them is decided elsewhere.
//!
//! | file | noun |
//! |---|---|
//! | `snapshot` | the pages of a state: which runs there are, and which of them were read |
//! | `head` | stream time, counters and runs, as a page |
//! | `segment_table` | the runs of each segment |
//! | `stored_run` | a run, and what is known of it without its pages |
//! | `touched` | the runs that a micro-batch touches |
//! | `sorted_windows` | windows of a segment, as they are written |
//! | `run_writer` | sorted windows to runs |
//! | `stored_windows` | windows of a page, as they were read |
//! | [`page`] | a part of a run, as sealed rows |
//! | `page_writer` | rows to pages |
//! | [`page_text`] | a page as text |
//! | `hexadecimal` | bytes as digits |
//! | [`source_time`] | how far a source has come in a micro-batch |

pub(crate) mod head;
mod hexadecimal;
pub mod page;
pub mod page_text;
pub(crate) mod page_writer;
pub(crate) mod run_writer;
pub(crate) mod segment_table;
pub(crate) mod snapshot;
pub(crate) mod sorted_windows;
pub mod source_time;
pub(crate) mod stored_run;
pub(crate) mod stored_windows;
pub(crate) mod touched;
