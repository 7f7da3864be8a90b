//! Rows in the order of (key, time), rows of equal key and time as they came.

use crate::key::KeyId;
use crate::time::Time;

/// Row numbers sorted by (key, time, row). Linear where rows of each key are already in order of time.
pub fn by_key_and_time(keys: &[KeyId], times: &[Time]) -> Vec<u32> {
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
    let mut sorted = vec![(Time(0), 0_u32); keys.len()];
    for (row, (key, &time)) in keys.iter().zip(times).enumerate() {
        if let Some(place) = ends.get_mut(key.0 as usize) {
            if let Some(entry) = sorted.get_mut(*place) {
                *entry = (time, row as u32);
            }
            *place += 1;
        }
    }
    let mut rest = sorted.as_mut_slice();
    let mut begin = 0;
    for end in ends {
        let (rows, tail) = std::mem::take(&mut rest).split_at_mut(end - begin);
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        (rest, begin) = (tail, end);
    }
    sorted.into_iter().map(|(_, row)| row).collect()
}
