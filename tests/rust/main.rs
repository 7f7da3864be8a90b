//! One binary for all Rust tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod kafka;
mod members;
mod replay;
mod sessions;
mod slides;
mod store;
mod stream_time;
mod texts;
mod window;
