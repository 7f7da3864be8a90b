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
        match Packing::of(times) {
            Some(packing) => {
                let (packed, ends) = sorted(keys, times, |time, row| packing.pack(time, row));
                Self {
                    rows: packed
                        .into_iter()
                        .map(|packed| packing.unpack(packed))
                        .collect(),
                    ends,
                }
            }
            None => {
                let (rows, ends) = sorted(keys, times, |time, row| (time, row));
                Self { rows, ends }
            }
        }
    }

    /// The rows of each key that has any: (time, row number), sorted.
    pub fn by_key(&self) -> impl Iterator<Item = (KeyId, &[(Time, u32)])> {
        let mut begin = 0;
        (0..)
            .map(KeyId)
            .zip(&self.ends)
            .filter_map(move |(key, &end)| {
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

/// Entries of rows, key by key, those of a key sorted; and where each key ends.
fn sorted<E: Copy + Default + Ord>(
    keys: &[KeyId],
    times: &[Time],
    entry: impl Fn(Time, u32) -> E,
) -> (Vec<E>, Vec<usize>) {
    let count = keys.iter().map(|key| key.0 as usize + 1).max().unwrap_or(0);
    let mut ends = vec![0_usize; count];
    for key in keys {
        if let Some(rows) = ends.get_mut(key.0 as usize) {
            *rows += 1;
        }
    }
    // Counts become where each key begins; placing a row moves its key's mark on, in the end to
    // where the key ends.
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut entries = vec![E::default(); keys.len()];
    for (row, (key, &time)) in (0..).zip(keys.iter().zip(times)) {
        if let Some(next) = ends.get_mut(key.0 as usize) {
            if let Some(place) = entries.get_mut(*next) {
                *place = entry(time, row);
            }
            *next += 1;
        }
    }
    let mut rest = entries.as_mut_slice();
    let mut begin = 0;
    for &end in &ends {
        let (entries, tail) = std::mem::take(&mut rest).split_at_mut(end - begin);
        if !entries.is_sorted() {
            entries.sort_unstable();
        }
        (rest, begin) = (tail, end);
    }
    (entries, ends)
}

/// A time and a row in one word, which sorts as they do: half as wide, and compared at once.
#[derive(Clone, Copy)]
struct Packing {
    least: Time,
    /// Bits of a row's number, the lowest ones.
    bits: u32,
}

impl Packing {
    /// Of rows with these times; none where they do not fit, or there are none.
    fn of(times: &[Time]) -> Option<Self> {
        let (least, greatest) = (*times.iter().min()?, *times.iter().max()?);
        let bits = usize::BITS - times.len().leading_zeros();
        (greatest.0.abs_diff(least.0).leading_zeros() >= bits).then_some(Self { least, bits })
    }

    fn pack(self, time: Time, row: u32) -> u64 {
        time.0.abs_diff(self.least.0) << self.bits | u64::from(row)
    }

    fn unpack(self, packed: u64) -> (Time, u32) {
        let time = self.least.0.wrapping_add_unsigned(packed >> self.bits);
        (Time(time), (packed & ((1 << self.bits) - 1)) as u32)
    }
}
