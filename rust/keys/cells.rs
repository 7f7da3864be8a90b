//! The cells of a column of strings or binary, in any Arrow layout, and the word that represents a
//! cell.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray};
use arrow_buffer::ArrowNativeType;
use arrow_row::Rows;
use arrow_schema::DataType;

use super::seed::{Seed, fold, hash_long};
use super::table::Word;
use crate::core::error::{Error, Result};

/// A cell up to this length fits into its word.
const SHORT: usize = 15;
/// Marks, in the top byte, a word that is only a hash. Otherwise the top byte is the length.
const LONG: u128 = 0xFF << 120;

/// 16 bytes as two halves. With a `u128`, a table entry would take 32 bytes instead of 24.
#[derive(Clone, Copy, Debug, Eq)]
pub(super) struct CellWord {
    low: u64,
    high: u64,
}

impl PartialEq for CellWord {
    /// Compares the halves separately. A vector comparison must wait until both halves of a new
    /// word are stored, which is 2 times slower in bursts.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        (self.low ^ other.low) | (self.high ^ other.high) == 0
    }
}

impl Word for CellWord {
    #[inline]
    fn hash(self, seed: Seed) -> u64 {
        fold(self.low ^ seed.first, self.high ^ seed.second)
    }
}

impl CellWord {
    #[inline]
    fn new(word: u128) -> Self {
        Self {
            low: word as u64,
            high: (word >> 64) as u64,
        }
    }

    /// Whether the word contains the whole cell, so that equal words mean equal cells.
    #[inline]
    pub(super) fn is_whole(self) -> bool {
        u128::from(self.high) << 64 < LONG
    }
}

/// A column of byte strings.
pub(super) trait Cells {
    /// The bytes of a row.
    fn get(&self, row: usize) -> &[u8];

    /// Appends the words of these rows.
    fn words(&self, rows: Range<usize>, seed: Seed, words: &mut Vec<CellWord>) {
        words.extend(rows.map(|row| word(self.get(row), seed)));
    }
}

/// The cells of a column of byte strings, in its own layout.
pub(super) fn cells(array: &ArrayRef) -> Result<&dyn Cells> {
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>(),
        DataType::LargeUtf8 => array.as_string::<i64>(),
        DataType::Utf8View => array.as_string_view(),
        DataType::Binary => array.as_binary::<i32>(),
        DataType::LargeBinary => array.as_binary::<i64>(),
        DataType::BinaryView => array.as_binary_view(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary(),
        _ => return Err(Error::Internal("a key column of bytes has another type")),
    })
}

/// The word of a cell.
///
/// | length | byte 0 .. 7 | 8 .. 14 | 15 |
/// |---|---|---|---|
/// | up to 15 | the cell | and zeros | length |
/// | longer | hash | length | `FF` |
#[inline]
pub(super) fn word(cell: &[u8], seed: Seed) -> CellWord {
    let length = cell.len();
    if length > SHORT {
        return CellWord::new(u128::from(hash_long(cell, seed)) | ((length as u128) << 64) | LONG);
    }
    // First and last bytes may overlap. The overlapping bits are equal.
    let whole = match (cell.first_chunk(), cell.last_chunk()) {
        (Some(&first), Some(&last)) => {
            u128::from(u64::from_le_bytes(first))
                | (u128::from(u64::from_le_bytes(last)) << (8 * (length - 8)))
        }
        _ => match (cell.first_chunk(), cell.last_chunk()) {
            (Some(&first), Some(&last)) => {
                u128::from(u32::from_le_bytes(first))
                    | (u128::from(u32::from_le_bytes(last)) << (8 * (length - 4)))
            }
            _ => cell
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u128::from(byte)),
        },
    };
    CellWord::new(whole | (length as u128) << 120)
}

/// The word of a short cell; `bytes` may contain other bytes after it.
#[inline]
fn masked(bytes: u128, length: usize) -> CellWord {
    CellWord::new(bytes & ((1 << (8 * length)) - 1) | (length as u128) << 120)
}

impl<T: ByteArrayType> Cells for GenericByteArray<T> {
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }

    #[inline]
    fn words(&self, rows: Range<usize>, seed: Seed, words: &mut Vec<CellWord>) {
        let data = self.value_data();
        let offsets = self
            .value_offsets()
            .get(rows.start..=rows.end)
            .unwrap_or_default();
        words.extend(offsets.array_windows().map(|&[start, end]| {
            let (start, length) = (
                start.as_usize(),
                end.as_usize().wrapping_sub(start.as_usize()),
            );
            match data.get(start..).and_then(<[u8]>::first_chunk) {
                Some(&bytes) if length <= SHORT => masked(u128::from_le_bytes(bytes), length),
                _ => word(data.get(start..end.as_usize()).unwrap_or_default(), seed),
            }
        }));
    }
}

impl<T: ByteViewType> Cells for GenericByteViewArray<T> {
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }

    #[inline]
    fn words(&self, rows: Range<usize>, seed: Seed, words: &mut Vec<CellWord>) {
        let views = self.views().get(rows.clone()).unwrap_or_default();
        words.extend(
            rows.zip(views)
                .map(|(row, &view)| match view as u32 as usize {
                    // The view contains the cell itself.
                    length @ 0..=12 => masked(view >> 32, length),
                    _ => word(self.get(row), seed),
                }),
        );
    }
}

impl Cells for FixedSizeBinaryArray {
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

impl Cells for Rows {
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.row(row).data()
    }
}
