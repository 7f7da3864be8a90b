//! Columns of values as the aggregates see them: a few kinds of plain slices, with validity.
//!
//! | kind | holds |
//! |---|---|
//! | `Int` | booleans (0, 1), integers up to i64, dates, timestamps, durations |
//! | `Float` | f32 (widened) and f64 |
//! | `Wide` | decimals up to 38 digits, u64 |
//! | `Bytes` | strings, binary; any other type as order-preserving row bytes |
//! | `List` | results and states that hold several values |

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};

/// Bits of validity, least significant first, as in Arrow: 1 is a value, 0 is null.
#[derive(Clone, Debug)]
pub struct Validity<'a> {
    bits: Cow<'a, [u8]>,
    offset: usize,
}

impl<'a> Validity<'a> {
    /// Validity that starts `offset` bits into `bits`.
    pub fn new(bits: impl Into<Cow<'a, [u8]>>, offset: usize) -> Self {
        Self { bits: bits.into(), offset }
    }

    /// Whether row `row` holds a value. Rows beyond the bits are null.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        let bit = row + self.offset;
        self.bits.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }
}

impl FromIterator<bool> for Validity<'static> {
    fn from_iter<I: IntoIterator<Item = bool>>(flags: I) -> Self {
        let mut bits = Vec::new();
        for (row, flag) in flags.into_iter().enumerate() {
            if row % 8 == 0 {
                bits.push(0);
            }
            if let (true, Some(byte)) = (flag, bits.last_mut()) {
                *byte |= 1 << (row % 8);
            }
        }
        Self::new(bits, 0)
    }
}

/// Byte strings, one after the other. `offsets` holds one more entry than there are rows.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    /// Where each row starts in `data`; the last entry is where the last row ends.
    pub offsets: Cow<'a, [i64]>,
    /// All rows' bytes.
    pub data: Cow<'a, [u8]>,
}

impl Bytes<'_> {
    /// The bytes of a row; empty where the offsets do not fit the data.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => self.data.get(from as usize..to as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl<'b> FromIterator<&'b [u8]> for Bytes<'static> {
    fn from_iter<I: IntoIterator<Item = &'b [u8]>>(rows: I) -> Self {
        let (mut offsets, mut data) = (vec![0], Vec::new());
        for row in rows {
            data.extend_from_slice(row);
            offsets.push(data.len() as i64);
        }
        Self { offsets: offsets.into(), data: data.into() }
    }
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// See the table above.
    Int(Cow<'a, [i64]>),
    /// See the table above.
    Float(Cow<'a, [f64]>),
    /// See the table above.
    Wide(Cow<'a, [i128]>),
    /// See the table above.
    Bytes(Bytes<'a>),
    /// Lists: `offsets` as in [`Bytes`], into the column of all elements.
    List {
        /// Where each row starts; one more entry than there are rows.
        offsets: Cow<'a, [i64]>,
        /// All rows' elements.
        elements: Box<Column<'a>>,
    },
}

/// A column of lists whose offsets were checked.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'b, 'a> {
    offsets: &'b [i64],
    /// All rows' elements.
    pub elements: &'b Column<'a>,
}

impl Lists<'_, '_> {
    /// Where a row's elements stand in all elements; empty beyond the last row.
    pub fn range(&self, row: usize) -> Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }
}

/// A column: values and validity. Without validity, no row is null.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// The values; what stands at a null row means nothing.
    pub values: Values<'a>,
    /// Which rows hold a value.
    pub validity: Option<Validity<'a>>,
}

impl<'a> Column<'a> {
    /// A column without nulls.
    pub fn new(values: Values<'a>) -> Self {
        Self { values, validity: None }
    }

    /// A column of lists without nulls; `offsets` as in [`Values::List`].
    pub fn list(offsets: Vec<i64>, elements: Self) -> Self {
        Self::new(Values::List { offsets: offsets.into(), elements: Box::new(elements) })
    }

    /// Views a column of lists; an error where its offsets go back or leave the elements.
    pub fn lists(&self) -> Result<Lists<'_, 'a>> {
        let Values::List { offsets, elements } = &self.values else {
            return Err(Error::Internal("an aggregate was given a column that holds no lists"));
        };
        let within = |&offset: &i64| usize::try_from(offset).is_ok_and(|offset| offset <= elements.len());
        if offsets.is_sorted() && offsets.iter().all(within) {
            Ok(Lists { offsets, elements })
        } else {
            Err(Error::Internal("the offsets of a column of lists do not fit its elements"))
        }
    }

    /// Whether row `row` holds a value.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity.is_valid(row))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Int(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Wide(values) => values.len(),
            Values::Bytes(bytes) => bytes.offsets.len().saturating_sub(1),
            Values::List { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
