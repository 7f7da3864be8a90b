//! Tests of this room.

mod stream_time;
