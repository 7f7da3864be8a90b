//! Which rows of a column hold a value.

use std::borrow::Cow;

/// Bits of validity, least significant first, as in Arrow: 1 is a value, 0 is null.
#[derive(Clone, Debug)]
pub struct Validity<'a> {
    bits: Cow<'a, [u8]>,
    offset: usize,
}

impl<'a> Validity<'a> {
    /// Validity that starts `offset` bits into `bits`.
    pub fn new(bits: impl Into<Cow<'a, [u8]>>, offset: usize) -> Self {
        Self {
            bits: bits.into(),
            offset,
        }
    }

    /// Whether row `row` holds a value. Rows beyond the bits are null.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        let bit = row + self.offset;
        self.bits
            .get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }
}

impl Validity<'_> {
    /// The same validity, borrowed, from a row on.
    pub(super) fn skip(&self, row: usize) -> Validity<'_> {
        Validity::new(Cow::Borrowed(&*self.bits), self.offset + row)
    }
}

impl Validity<'static> {
    /// The validity of rows that hold a value if their flag is set; none if all do.
    pub fn of(flags: &[bool]) -> Option<Self> {
        (!flags.iter().all(|&flag| flag)).then(|| flags.iter().copied().collect())
    }

    /// Adds flags after the first `rows` rows.
    pub(super) fn extend(&mut self, rows: usize, flags: impl Iterator<Item = bool>) {
        debug_assert_eq!(self.offset, 0, "owned validity starts at its first bit");
        let bits = self.bits.to_mut();
        bits.truncate(rows.div_ceil(8));
        for (row, flag) in (rows..).zip(flags) {
            if row % 8 == 0 {
                bits.push(0);
            }
            if let (true, Some(byte)) = (flag, bits.last_mut()) {
                *byte |= 1 << (row % 8);
            }
        }
    }

    /// The bits, from the first row on.
    pub fn into_bits(self) -> Vec<u8> {
        self.bits.into_owned()
    }
}

impl FromIterator<bool> for Validity<'static> {
    fn from_iter<I: IntoIterator<Item = bool>>(flags: I) -> Self {
        let mut validity = Self::new(Vec::new(), 0);
        validity.extend(0, flags.into_iter());
        validity
    }
}
