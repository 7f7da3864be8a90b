//! The part of a shard that persists between two micro-batches: pages of windows, and a head that
//! lists them. This module loads and stores windows as columns. Other modules decide what happens
//! to them.
//!
//! | file | content |
//! |---|---|
//! | `snapshot` | the pages of a state: its runs, and which of them were read |
//! | `head` | stream time, counters and runs, as a page |
//! | `segment_table` | the runs of each segment |
//! | `stored_run` | a run, with statistics that need no page |
//! | `touched` | the runs that a micro-batch touches |
//! | `sorted_windows` | windows of a segment, before they are written |
//! | `run_writer` | writes sorted windows as runs |
//! | `stored_windows` | windows of a page that was read |
//! | [`page`] | a part of a run, as sealed rows |
//! | `page_writer` | writes rows as pages |
//! | `emissions` | the last emissions of windows, as columns of a page |
//! | [`page_text`] | a page as text |
//! | `hexadecimal` | bytes as digits |
//! | [`source_time`] | the progress of a source in a micro-batch |

pub(crate) mod emissions;
pub(crate) mod head;
mod hexadecimal;
pub(crate) mod page;
pub(crate) mod page_text;
pub(crate) mod page_writer;
pub(crate) mod run_writer;
pub(crate) mod segment_table;
pub(crate) mod snapshot;
pub(crate) mod sorted_windows;
pub mod source_time;
pub(crate) mod stored_run;
pub(crate) mod stored_windows;
pub(crate) mod touched;

#[cfg(test)]
mod tests;
