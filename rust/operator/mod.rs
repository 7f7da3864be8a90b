//! What the record-by-record operators of sessions and sliding windows share.

pub mod change;
pub mod counters;
pub mod record;
pub mod stream_time;
pub mod window_operator;
