//! Tests of this room.

mod page_text;
