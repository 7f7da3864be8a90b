//! One binary for all Rust tests.
