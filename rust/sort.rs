//! Rows in the order of (key, time), rows of equal key and time as they came.

use crate::error::Result;
use crate::interrupt::{Interrupt, STRETCH};
use crate::key::KeyId;
use crate::time::Time;

/// Entries that are sorted at once, which takes less than a tenth of a second. More of them are
/// dealt into buckets first.
const AT_ONCE: usize = 1 << 20;

/// The logarithm of the number of buckets.
const BUCKET_BITS: u32 = 8;

/// Rows sorted by (key, time, row). Linear where the rows of each key are already in order of time.
#[derive(Debug)]
pub struct SortedRows {
    rows: Vec<(Time, u32)>,
    /// Where the rows of each key end.
    ends: Vec<usize>,
}

impl SortedRows {
    /// Sorts rows; `keys` and `times` are parallel, no key is null.
    ///
    /// # Errors
    ///
    /// Those of the interrupt.
    pub fn new(keys: &[KeyId], times: &[Time], interrupt: &Interrupt) -> Result<Self> {
        let Some(packing) = Packing::of(times) else {
            let (mut rows, ends) = by_key(keys, times, |time, row| (time, row), interrupt)?;
            sort_keys(&mut rows, &ends, |&(time, _)| time.rank(), interrupt)?;
            return Ok(Self { rows, ends });
        };
        let entry = |time, row| packing.pack(time, row);
        let (mut packed, ends) = by_key(keys, times, entry, interrupt)?;
        sort_keys(&mut packed, &ends, |&packed| packed, interrupt)?;
        let mut rows = Vec::with_capacity(packed.len());
        for packed in packed.chunks(STRETCH) {
            interrupt.check()?;
            rows.extend(packed.iter().map(|&packed| packing.unpack(packed)));
        }
        Ok(Self { rows, ends })
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

/// The first bytes of a name as a number, which sorts as they do.
pub fn prefix(name: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes
        .iter_mut()
        .zip(name)
        .for_each(|(to, &from)| *to = from);
    u128::from_be_bytes(bytes)
}

/// Sorts items by the bytes of their names. Most names differ in their first bytes.
pub fn sort_by_name<'n, T: Copy>(items: &mut [T], name: impl Fn(T) -> &'n [u8]) {
    let mut named: Vec<(u128, T)> = items
        .iter()
        .map(|&item| (prefix(name(item)), item))
        .collect();
    named.sort_unstable_by(|&(left, a), &(right, b)| {
        left.cmp(&right).then_with(|| name(a).cmp(name(b)))
    });
    for (item, (_, named)) in items.iter_mut().zip(named) {
        *item = named;
    }
}

/// Entries of rows, key by key, those of a key in the order of rows; and where each key ends.
fn by_key<E: Copy + Default>(
    keys: &[KeyId],
    times: &[Time],
    entry: impl Fn(Time, u32) -> E,
    interrupt: &Interrupt,
) -> Result<(Vec<E>, Vec<usize>)> {
    let count = keys.iter().map(|key| key.0 as usize + 1).max().unwrap_or(0);
    let mut ends = vec![0_usize; count];
    for keys in keys.chunks(STRETCH) {
        interrupt.check()?;
        for key in keys {
            if let Some(rows) = ends.get_mut(key.0 as usize) {
                *rows += 1;
            }
        }
    }
    starts_of(&mut ends);
    let mut entries = vec![E::default(); keys.len()];
    let mut rows = 0..;
    for (keys, times) in keys.chunks(STRETCH).zip(times.chunks(STRETCH)) {
        interrupt.check()?;
        for ((key, &time), row) in keys.iter().zip(times).zip(&mut rows) {
            if let Some(next) = ends.get_mut(key.0 as usize) {
                if let Some(slot) = entries.get_mut(*next) {
                    *slot = entry(time, row);
                }
                *next += 1;
            }
        }
    }
    Ok((entries, ends))
}

/// Turns counts into where each group begins. Moved on with each entry of the group, a start
/// becomes where the group ends.
fn starts_of(counts: &mut [usize]) {
    let mut total = 0;
    for count in counts {
        total += std::mem::replace(count, total);
    }
}

/// Sorts the entries of each key.
fn sort_keys<E: Copy + Ord>(
    entries: &mut [E],
    ends: &[usize],
    rank: impl Fn(&E) -> u64 + Copy,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut rest = entries;
    let mut begin = 0;
    for &end in ends {
        interrupt.check_rows(begin..end)?;
        let (entries, tail) = std::mem::take(&mut rest).split_at_mut(end - begin);
        if !entries.is_sorted() {
            sort_long(entries, rank, <[E]>::sort_unstable, interrupt)?;
        }
        (rest, begin) = (tail, end);
    }
    Ok(())
}

/// Sorts entries, however many there are: `rank` goes up with their order, and equal ones may have
/// one rank. `sort` sorts those that are few enough.
///
/// ```text
///   ranks                 7 1 4 0 6 5 2 3
///   by their upper bits   1 0│2 3│4 5│7 6      each bucket is sorted by itself
/// ```
///
/// # Errors
///
/// Those of the interrupt.
pub fn sort_long<E: Copy>(
    entries: &mut [E],
    rank: impl Fn(&E) -> u64 + Copy,
    sort: impl Fn(&mut [E]) + Copy,
    interrupt: &Interrupt,
) -> Result<()> {
    if entries.len() <= AT_ONCE {
        sort(entries);
        return Ok(());
    }
    let least = entries.iter().map(rank).min().unwrap_or_default();
    let most = entries.iter().map(rank).max().unwrap_or_default();
    let bits = u64::BITS - (most - least).leading_zeros();
    if bits == 0 {
        sort(entries);
        return Ok(());
    }
    let shift = bits.saturating_sub(BUCKET_BITS);
    let bucket = |entry: &E| ((rank(entry) - least) >> shift) as usize;
    let mut ends = [0_usize; 1 << BUCKET_BITS];
    for entries in entries.chunks(STRETCH) {
        interrupt.check()?;
        for entry in entries {
            if let Some(count) = ends.get_mut(bucket(entry)) {
                *count += 1;
            }
        }
    }
    starts_of(&mut ends);
    let unsorted = entries.to_vec();
    for unsorted in unsorted.chunks(STRETCH) {
        interrupt.check()?;
        for entry in unsorted {
            if let Some(next) = ends.get_mut(bucket(entry)) {
                if let Some(slot) = entries.get_mut(*next) {
                    *slot = *entry;
                }
                *next += 1;
            }
        }
    }
    drop(unsorted);
    let mut rest = entries;
    let mut begin = 0;
    for end in ends {
        let (entries, tail) = rest.split_at_mut(end - begin);
        interrupt.check()?;
        sort_long(entries, rank, sort, interrupt)?;
        (rest, begin) = (tail, end);
    }
    Ok(())
}

/// The values of some rows.
pub fn pick<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter()
        .filter_map(|&row| values.get(row as usize).copied())
        .collect()
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
