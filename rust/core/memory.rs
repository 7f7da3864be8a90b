//! Asking for memory before it is needed: what the allocator refuses is then an error, where a
//! collection that cannot grow ends the process.
//!
//! Work asks now and then for a stretch of memory that it does not use ([`headroom`]), which is more
//! than it takes until it asks again, and for what its largest vectors are going to take.

use std::hint::black_box;

use crate::core::error::{Error, Result};

/// More than work takes for a step of rows or a batch of results, and above the size from which on
/// the allocator of glibc maps each block by itself, so that asking costs two calls of the system.
const HEADROOM: usize = 64 << 20;

/// Just below the 32 MiB up to which glibc adapts to the blocks that are freed.
const LARGE_BLOCK: usize = (32 << 20) - (64 << 10);

/// Allocates a large block and frees it. From then on the allocator of glibc keeps the memory of
/// blocks up to this size when they are freed: otherwise each step of work asks the system for the
/// same pages again, a tenth of all time.
pub fn keep_freed() {
    drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
}

/// Asks for memory for the next stretch of work.
///
/// # Errors
///
/// [`Error::Memory`] where there is none.
pub fn headroom() -> Result<()> {
    room_for(0)
}

/// Asks for memory for so many bytes and the next stretch of work.
///
/// # Errors
///
/// [`Error::Memory`] where there is none.
pub fn room_for(bytes: usize) -> Result<()> {
    let mut asked: Vec<u8> = Vec::new();
    let bytes = bytes.saturating_add(HEADROOM);
    asked.try_reserve_exact(bytes).map_err(|_| refused(bytes))?;
    drop(black_box(asked));
    Ok(())
}

/// Asks for memory where `more` entries beside `held` ones are more than vectors that grow by
/// doubling have had room for, with so many bytes of an entry in all of them.
///
/// # Errors
///
/// [`Error::Memory`] where there is none.
pub fn room_to_grow(held: usize, more: usize, width: usize) -> Result<()> {
    let room = |entries: usize| entries.checked_next_power_of_two().unwrap_or(usize::MAX);
    let grown = room(held.saturating_add(more));
    if grown == room(held) {
        return Ok(());
    }
    room_for(grown.saturating_mul(width))
}

/// Room for more values of a vector.
///
/// # Errors
///
/// [`Error::Memory`] where there is none.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
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
