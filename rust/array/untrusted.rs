//! Reads bytes that may be damaged with Arrow's readers. They follow offsets in the bytes, and panic if
//! one is out of bounds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;

/// Reads bytes. An error is its reason in words.
pub(crate) fn read_untrusted<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| "its bytes are not Arrow's".to_owned())?
        .map_err(|error| error.to_string())
}
