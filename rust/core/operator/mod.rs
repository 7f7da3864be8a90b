//! Shared parts of the record-by-record operators of sessions and sliding windows.
//!
//! | file | content |
//! |---|---|
//! | [`window_operator`] | the operator: stored windows, stream time and counters |
//! | `emission` | emits finals, updates and late records |
//! | [`record`] | an arriving record, its faults, and its outcome |
//! | [`change`] | one change of one window |
//! | [`pace`] | how long changed windows wait for their next emission |
//! | [`shown_windows`] | the windows that a sink has in place of one that waits |
//! | [`session_end`] | how a session ended |
//! | [`stream_time`] | how far each input is, and the close times |
//! | `slowest_source` | the slowest source of an input |
//! | [`counters`] | the counters |

pub mod change;
pub mod counters;
mod emission;
pub mod pace;
pub mod record;
pub mod session_end;
pub mod shown_windows;
mod slowest_source;
pub mod stream_time;
pub mod window_operator;

#[cfg(test)]
mod tests;
