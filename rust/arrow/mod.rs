//! Arrow in and out.

pub mod keys;
