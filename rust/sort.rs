//! Rows in the order of (key, time), rows of equal key and time as they came.

use crate::key::KeyId;
use crate::time::Time;

/// Rows sorted by (key, time, row). Linear where the rows of each key are already in order of time.
#[derive(Debug)]
pub struct Sorted {
    rows: Vec<(Time, u32)>,
    /// Where the rows of each key end.
    ends: Vec<usize>,
}

impl Sorted {
    /// Sorts rows; `keys` and `times` are parallel, no key is null.
    pub fn new(keys: &[KeyId], times: &[Time]) -> Self {
        let count = keys.iter().map(|key| key.0 as usize + 1).max().unwrap_or(0);
        let mut ends = vec![0_usize; count];
        for key in keys {
            if let Some(rows) = ends.get_mut(key.0 as usize) {
                *rows += 1;
            }
        }
        // Counts become where each key begins; placing a row moves its key's mark on, in the end to where the key ends.
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut rows = vec![(Time(0), 0_u32); keys.len()];
        for (row, (key, &time)) in keys.iter().zip(times).enumerate() {
            if let Some(place) = ends.get_mut(key.0 as usize) {
                if let Some(entry) = rows.get_mut(*place) {
                    *entry = (time, row as u32);
                }
                *place += 1;
            }
        }
        let mut sorted = Self { rows, ends };
        let mut rest = sorted.rows.as_mut_slice();
        let mut begin = 0;
        for &end in &sorted.ends {
            let (rows, tail) = std::mem::take(&mut rest).split_at_mut(end - begin);
            if !rows.is_sorted() {
                rows.sort_unstable();
            }
            (rest, begin) = (tail, end);
        }
        sorted
    }

    /// The rows of each key that has any: (time, row number), sorted.
    pub fn by_key(&self) -> impl Iterator<Item = (KeyId, &[(Time, u32)])> {
        let mut begin = 0;
        (0..).map(KeyId).zip(&self.ends).filter_map(move |(key, &end)| {
            let rows = self.rows.get(begin..end).filter(|rows| !rows.is_empty())?;
            begin = end;
            Some((key, rows))
        })
    }

    /// The row numbers alone.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = u32> {
        self.rows.iter().map(|&(_, row)| row)
    }
}
