//! Byte strings of a column, in one buffer.

use std::borrow::Cow;

/// Byte strings, one after the other. `offsets` holds one more entry than there are rows.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    /// Where each row starts in `data`; the last entry is where the last row ends.
    pub offsets: Cow<'a, [i64]>,
    /// All rows' bytes.
    pub data: Cow<'a, [u8]>,
}

impl Bytes<'_> {
    /// The bytes of a row; empty if the offsets do not fit the data.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => self
                .data
                .get(from as usize..to as usize)
                .unwrap_or_default(),
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
        Self {
            offsets: offsets.into(),
            data: data.into(),
        }
    }
}

impl Bytes<'_> {
    /// The same byte strings, borrowed.
    pub(super) fn borrowed(&self) -> Bytes<'_> {
        Bytes {
            offsets: Cow::Borrowed(&self.offsets),
            data: Cow::Borrowed(&self.data),
        }
    }
}

impl Bytes<'static> {
    /// Appends the rows of `other`.
    pub(super) fn append(&mut self, other: &Bytes<'_>) {
        let shift = self.data.len() as i64;
        let start = other.offsets.first().copied().unwrap_or_default();
        let end = other.offsets.last().copied().unwrap_or_default();
        let data = other.data.get(start as usize..end as usize);
        self.data
            .to_mut()
            .extend_from_slice(data.unwrap_or_default());
        let offsets = other.offsets.iter().skip(1);
        self.offsets
            .to_mut()
            .extend(offsets.map(|offset| offset - start + shift));
    }
}
