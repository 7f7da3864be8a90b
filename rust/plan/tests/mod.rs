//! Tests of this room.

mod continuation;
