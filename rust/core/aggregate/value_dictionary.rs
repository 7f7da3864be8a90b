//! The distinct values of the rows of a sweep, numbered in ascending order.

use std::ops::Range;

use arrow_array::Array;

use super::RowSpan;
use super::row_spans::spanned;
use super::scalar::Scalar;

/// The distinct values of the rows of some spans, numbered in ascending order.
pub(super) struct Dictionary {
    /// The first row of them.
    from: usize,
    /// The code of each row's value; none where the row is null.
    codes: Vec<Option<u32>>,
    /// One row with the value of each code.
    row_of: Vec<usize>,
}

impl Dictionary {
    /// The dictionary of a column's rows from the first span to the last one.
    pub(super) fn new<V: Scalar>(values: &V::Array, spans: &[RowSpan]) -> Self {
        let Range { start, end } = spanned(spans);
        let compare =
            |left: usize, right: usize| V::compare(V::at(values, left), V::at(values, right));
        let mut rows: Vec<usize> = (start..end.min(values.len()))
            .filter(|&row| values.is_valid(row))
            .collect();
        rows.sort_unstable_by(|&left, &right| compare(left, right));
        let mut dictionary = Self {
            from: start,
            codes: vec![None; end.saturating_sub(start)],
            row_of: Vec::new(),
        };
        for row in rows {
            let last = dictionary.row_of.last();
            if !last.is_some_and(|&last| compare(last, row).is_eq()) {
                dictionary.row_of.push(row);
            }
            if let Some(code) = dictionary.codes.get_mut(row - start) {
                *code = Some(dictionary.row_of.len() as u32 - 1);
            }
        }
        dictionary
    }

    /// How many distinct values there are.
    pub(super) fn len(&self) -> usize {
        self.row_of.len()
    }

    /// The code of a row's value; none where the row is null.
    #[inline]
    pub(super) fn code(&self, row: usize) -> Option<u32> {
        let place = row.checked_sub(self.from)?;
        self.codes.get(place).copied().flatten()
    }

    /// The value of a code.
    pub(super) fn value<'a, V: Scalar>(&self, values: &'a V::Array, code: u32) -> Option<V::Ref<'a>>
    where
        V::Ref<'a>: Copy,
    {
        let row = self.row_of.get(code as usize)?;
        Some(V::at(values, *row))
    }
}
