//! Sorts rows by (key, time). Rows with equal key and time keep their order.

use crate::core::error::{Error, Result};
use crate::core::interrupt::{Interrupt, STRETCH};
use crate::core::key::KeyId;
use crate::core::time::Time;

/// The most entries to sort in one call, which takes less than a tenth of a second. Larger inputs
/// are split into buckets first.
const AT_ONCE: usize = 1 << 20;

/// The binary logarithm of the number of buckets. Each bucket is sorted afterwards.
const BUCKET_BITS: u32 = 8;

/// The binary logarithm of the number of buckets in a rough order. These buckets are not sorted.
const ROUGH_BITS: u32 = 11;

/// Rows sorted by (key, time, row). Takes linear time if the rows of each key arrive in time order.
#[derive(Debug)]
pub(crate) struct SortedRows {
    rows: Vec<(Time, u32)>,
    /// The end of each key's rows.
    ends: Vec<usize>,
}

impl SortedRows {
    /// Sorts rows. `keys` and `times` are parallel, and no key is null.
    pub(crate) fn new(keys: &[KeyId], times: &[Time], interrupt: &Interrupt) -> Result<Self> {
        let (rows, ends) = sorted(keys, times, |row| row, interrupt)?;
        Ok(Self { rows, ends })
    }

    /// The rows of each key that has rows, as sorted (time, row number) pairs.
    pub(crate) fn by_key(&self) -> impl Iterator<Item = (KeyId, &[(Time, u32)])> {
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
}

/// The row numbers, sorted by (key, time, row). `keys` and `times` are parallel, and no key is
/// null.
pub(crate) fn order(keys: &[KeyId], times: &[Time], interrupt: &Interrupt) -> Result<Vec<u32>> {
    Ok(sorted(keys, times, |(_, row)| row, interrupt)?.0)
}

/// The sorted rows and the end of each key's rows. `entry` maps each (time, row number).
fn sorted<E>(
    keys: &[KeyId],
    times: &[Time],
    entry: impl Fn((Time, u32)) -> E,
    interrupt: &Interrupt,
) -> Result<(Vec<E>, Vec<usize>)> {
    let Some(packing) = Packing::of(times) else {
        let (mut rows, ends) = by_key(keys, times, |time, row| (time, row), interrupt)?;
        sort_keys(&mut rows, &ends, |&(time, _)| time.rank(), interrupt)?;
        return Ok((rows.into_iter().map(entry).collect(), ends));
    };
    let pack = |time, row| packing.pack(time, row);
    let (mut packed, ends) = by_key(keys, times, pack, interrupt)?;
    sort_keys(&mut packed, &ends, |&packed| packed, interrupt)?;
    let mut rows = Vec::with_capacity(packed.len());
    for packed in packed.chunks(STRETCH) {
        interrupt.check()?;
        rows.extend(packed.iter().map(|&packed| entry(packing.unpack(packed))));
    }
    Ok((rows, ends))
}

/// The positions of `ranks`, roughly by ascending rank. Reading memory in this order goes more or
/// less from one end to the other. Equal ranks keep their order.
pub(crate) fn rough_order(ranks: &[u32]) -> Vec<u32> {
    let most = ranks.iter().max().copied().unwrap_or_default();
    let shift = (u32::BITS - most.leading_zeros()).saturating_sub(ROUGH_BITS);
    let mut ends = [0_usize; 1 << ROUGH_BITS];
    for rank in ranks {
        if let Some(count) = ends.get_mut((rank >> shift) as usize) {
            *count += 1;
        }
    }
    starts_of(&mut ends);
    let mut order = vec![0; ranks.len()];
    for (position, rank) in (0..).zip(ranks) {
        if let Some(next) = ends.get_mut((rank >> shift) as usize) {
            if let Some(slot) = order.get_mut(*next) {
                *slot = position;
            }
            *next += 1;
        }
    }
    order
}

/// The first 16 bytes of a name as a number. The numbers sort like the bytes.
pub(crate) fn prefix(name: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes
        .iter_mut()
        .zip(name)
        .for_each(|(to, &from)| *to = from);
    u128::from_be_bytes(bytes)
}

/// Sorts items by the bytes of their names. This is fast if the names differ in their first 16
/// bytes.
pub(crate) fn sort_by_name<'n, T: Copy>(items: &mut [T], name: impl Fn(T) -> &'n [u8]) {
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

/// The rows' entries, key by key, and the end of each key's entries. Entries of a key keep their
/// order.
fn by_key<E: Copy + Default>(
    keys: &[KeyId],
    times: &[Time],
    entry: impl Fn(Time, u32) -> E,
    interrupt: &Interrupt,
) -> Result<(Vec<E>, Vec<usize>)> {
    if keys.len() != times.len() {
        return Err(Error::Internal("a row has no key or no time"));
    }
    u32::try_from(keys.len()).map_err(|_| Error::Memory {
        what: format!("{} rows to be sorted at once, 2^32 or more", keys.len()),
    })?;
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

/// Turns the sizes of groups into their starts. The caller advances a group's start by one for each
/// entry that it places, so all starts become ends.
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

/// Sorts any number of entries. `rank` must agree with the order of `sort`, which may still order
/// entries of equal rank. `sort` gets at most `AT_ONCE` entries, or entries of a single rank.
///
/// ```text
///   ranks                 7 1 4 0 6 5 2 3
///   by their upper bits   1 0│2 3│4 5│7 6      each bucket is sorted alone
/// ```
pub(crate) fn sort_long<E: Copy>(
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

/// The values of `rows`.
pub(crate) fn pick<T: Copy>(values: &[T], rows: &[u32]) -> Result<Vec<T>> {
    in_range(rows, values.len())?;
    let Some(&first) = values.first() else {
        return Ok(Vec::new());
    };
    // All rows are in range. The default `first` only keeps a branch out of the loop.
    let value = |&row: &u32| values.get(row as usize).copied().unwrap_or(first);
    Ok(rows.iter().map(value).collect())
}

/// The values of `rows` in an optional column. Empty if the column has no values at all.
pub(crate) fn pick_optional<T: Copy>(values: &[T], rows: &[u32]) -> Result<Vec<T>> {
    if values.is_empty() {
        Ok(Vec::new())
    } else {
        pick(values, rows)
    }
}

/// Checks that every row is less than `count`.
pub(crate) fn in_range(rows: &[u32], count: usize) -> Result<()> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    // Without an early exit, the compiler vectorizes this loop.
    if rows.iter().fold(false, |out, &row| out | (row >= count)) {
        Err(Error::Internal("a row is out of range"))
    } else {
        Ok(())
    }
}

/// Packs a time and a row into one word that sorts like (time, row). The word is half as wide as
/// the pair and takes one comparison.
#[derive(Clone, Copy)]
struct Packing {
    least: Time,
    /// Number of low bits for the row.
    bits: u32,
}

impl Packing {
    /// The packing for these times. `None` without rows, or if 64 bits are too few.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_value_are_an_error() {
        assert_eq!(pick(&[10, 11], &[1, 0, 1]).unwrap(), [11, 10, 11]);
        for (values, rows) in [(&[10, 11][..], &[0, 2][..]), (&[], &[0])] {
            assert!(matches!(pick(values, rows), Err(Error::Internal(_))));
        }
        assert!(pick::<i32>(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn a_column_that_is_not_there_has_no_values_and_one_that_is_there_has_all() {
        assert!(pick_optional::<i32>(&[], &[0, 7]).unwrap().is_empty());
        assert!(matches!(
            pick_optional(&[10], &[1]),
            Err(Error::Internal(_))
        ));
    }

    #[test]
    fn rows_are_not_sorted_by_fewer_times() {
        let sorted = order(&[KeyId(0), KeyId(0)], &[Time(1)], &Interrupt::never());
        assert!(matches!(sorted, Err(Error::Internal(_))));
    }
}
