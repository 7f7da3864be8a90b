//! Asks for memory before work needs it. A refusal is then an error. A collection that cannot grow
//! would abort the process instead.
//!
//! Work calls [`headroom`] now and then. The call allocates and frees more than work takes until
//! the next call. Work also asks before its largest vectors grow.

use std::hint::black_box;

use crate::core::error::{Error, Result};

/// More than work takes for one step of rows or one batch of results. glibc maps each block of this
/// size separately, so asking costs two system calls.
const HEADROOM: usize = 64 << 20;

/// Just below 32 MiB, the largest freed block to which glibc adapts.
const LARGE_BLOCK: usize = (32 << 20) - (64 << 10);

/// Allocates a large block and frees it. From then on glibc keeps freed blocks up to this size.
/// Without this, each step of work gets the same pages from the system again, which takes a tenth
/// of the run time.
pub(crate) fn keep_freed() {
    drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
}

/// Asks for memory for the next stretch of work.
pub(crate) fn headroom() -> Result<()> {
    room_for(0)
}

/// Asks for memory for `bytes` and for the next stretch of work.
pub(crate) fn room_for(bytes: usize) -> Result<()> {
    let mut block: Vec<u8> = Vec::new();
    let bytes = bytes.saturating_add(HEADROOM);
    block.try_reserve_exact(bytes).map_err(|_| refused(bytes))?;
    drop(black_box(block));
    Ok(())
}

/// Asks for memory if growth from `held` by `more` entries makes doubling vectors reallocate.
/// `width` is the total bytes of an entry in all these vectors.
pub(crate) fn room_to_grow(held: usize, more: usize, width: usize) -> Result<()> {
    let room = |entries: usize| entries.checked_next_power_of_two().unwrap_or(usize::MAX);
    let grown = room(held.saturating_add(more));
    if grown == room(held) {
        return Ok(());
    }
    room_for(grown.saturating_mul(width))
}

/// Reserves room for `more` values in a vector.
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = values
        .len()
        .saturating_add(more)
        .saturating_mul(size_of::<T>());
    values.try_reserve(more).map_err(|_| refused(bytes))
}

fn refused(bytes: usize) -> Error {
    Error::Memory {
        what: format!("a block of {} MiB was refused", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_allocator_refuses_is_an_error() {
        assert!(headroom().is_ok());
        assert!(room_for(1 << 20).is_ok());
        assert!(matches!(
            room_for(isize::MAX as usize),
            Err(Error::Memory { .. })
        ));
        assert!(room_to_grow(1 << 20, 1 << 10, 8).is_ok());
        assert!(matches!(
            room_to_grow(1 << 20, 1, usize::MAX),
            Err(Error::Memory { .. })
        ));
        assert!(room_to_grow((1 << 20) - 1, 1, usize::MAX).is_ok());
        let mut values = vec![1_u64];
        assert!(reserve(&mut values, 1 << 10).is_ok());
        assert!(values.capacity() > 1 << 10);
        assert!(matches!(
            reserve(&mut values, usize::MAX / 16),
            Err(Error::Memory { .. })
        ));
        assert_eq!(values, [1]);
    }
}
