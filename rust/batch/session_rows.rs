//! The rows of sessions, for queries that return rows. The input numbers the rows.
//!
//! ```text
//!   number   0 1 2 3 4 5         rows as they arrive
//!   slot     1 0 1 1 2 0         the slot of each row's session
//!   lists    1 5│0 2 3│4         rows by slot
//! ```

use arrow_array::ArrayRef;

use crate::core::aggregate::column::list;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::memory;

/// Row numbers with the slots of their sessions.
#[derive(Default)]
pub(super) struct SessionRows {
    numbers: Vec<i64>,
    slots: Vec<Slot>,
}

/// The rows of each slot, in order of arrival.
pub(crate) struct RowLists {
    numbers: Vec<i64>,
    /// Where the list of each slot ends.
    ends: Vec<usize>,
}

impl SessionRows {
    /// Adds rows; `slots` is parallel to them.
    pub(super) fn add(&mut self, numbers: &[i64], slots: &[Slot]) -> Result<()> {
        memory::reserve(&mut self.numbers, numbers.len())?;
        memory::reserve(&mut self.slots, slots.len())?;
        self.numbers.extend_from_slice(numbers);
        self.slots.extend_from_slice(slots);
        Ok(())
    }

    /// Adds the rows of slots `from` in `lists` to slots `into`.
    pub(super) fn add_lists(
        &mut self,
        lists: &RowLists,
        from: &[Slot],
        into: &[Slot],
    ) -> Result<()> {
        from.iter().zip(into).try_for_each(|(&from, &into)| {
            let numbers = lists.of(from);
            self.add(numbers, &vec![into; numbers.len()])
        })
    }

    /// Takes the rows as one list per slot, for `slots` slots. If slots were joined, `moves` has
    /// the new slot of each old one.
    pub(super) fn take_lists(&mut self, slots: usize, moves: Option<&[Slot]>) -> Result<RowLists> {
        let Self { numbers, slots: of } = std::mem::take(self);
        let moved = |slot: Slot| match moves {
            Some(moves) => moves.get(slot.0 as usize).map(|slot| slot.0 as usize),
            None => Some(slot.0 as usize),
        };
        let mut ends = vec![0_usize; slots];
        for &slot in &of {
            let count = moved(slot).and_then(|slot| ends.get_mut(slot));
            *count.ok_or(Error::Internal("a row has no slot"))? += 1;
        }
        let mut total = 0;
        for count in &mut ends {
            total += std::mem::replace(count, total);
        }
        let mut sorted = vec![0; numbers.len()];
        for (&number, &slot) in numbers.iter().zip(&of) {
            if let Some(next) = moved(slot).and_then(|slot| ends.get_mut(slot)) {
                if let Some(place) = sorted.get_mut(*next) {
                    *place = number;
                }
                *next += 1;
            }
        }
        Ok(RowLists {
            numbers: sorted,
            ends,
        })
    }
}

impl RowLists {
    fn of(&self, slot: Slot) -> &[i64] {
        let slot = slot.0 as usize;
        let before = slot.checked_sub(1).and_then(|slot| self.ends.get(slot));
        let start = before.copied().unwrap_or_default();
        let end = self.ends.get(slot).copied().unwrap_or_default();
        self.numbers.get(start..end).unwrap_or_default()
    }

    /// The lists of slots as a column.
    pub(crate) fn column(&self, slots: &[Slot]) -> ArrayRef {
        let mut offsets = Vec::with_capacity(slots.len() + 1);
        offsets.push(0);
        let mut end = 0;
        offsets.extend(slots.iter().map(|&slot| {
            end += self.of(slot).len() as i64;
            end
        }));
        let mut numbers = Vec::with_capacity(end as usize);
        for &slot in slots {
            numbers.extend_from_slice(self.of(slot));
        }
        list(offsets, i64::dense(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::aggregate::column::Lists;

    fn lists(lists: &RowLists, slots: usize) -> Vec<&[i64]> {
        Slot::below(slots)
            .unwrap()
            .into_iter()
            .map(|slot| lists.of(slot))
            .collect()
    }

    #[test]
    fn a_row_of_no_session_is_an_error() {
        let mut rows = SessionRows::default();
        rows.add(&[10], &[Slot(1)]).unwrap();
        assert!(matches!(rows.take_lists(1, None), Err(Error::Internal(_))));
    }

    #[test]
    fn rows_are_listed_by_the_slots_that_theirs_were_joined_into() {
        // slots   1 0 1 3 0      slots 1 and 3 are joined into 0, slot 0 becomes 1
        let mut rows = SessionRows::default();
        rows.add(&[10, 11], &[Slot(1), Slot(0)]).unwrap();
        rows.add(&[12, 13, 14], &[Slot(1), Slot(3), Slot(0)])
            .unwrap();
        let moves = [Slot(1), Slot(0), Slot(2), Slot(0)];
        let joined = rows.take_lists(3, Some(&moves)).unwrap();
        assert_eq!(lists(&joined, 3), [&[10, 12, 13][..], &[11, 14], &[]]);
        assert!(rows.numbers.is_empty() && rows.slots.is_empty());

        // slot 1 continues as slot 0, and gets a row
        rows.add_lists(&joined, &[Slot(1)], &[Slot(0)]).unwrap();
        rows.add(&[15], &[Slot(0)]).unwrap();
        let column = rows
            .take_lists(2, None)
            .unwrap()
            .column(&[Slot(1), Slot(0), Slot(0)]);
        let found = Lists::of(&column).unwrap();
        assert_eq!([0, 1, 2].map(|row| found.range(row)), [0..0, 0..3, 3..6]);
        let numbers = i64::view(found.elements).unwrap().values();
        assert_eq!(numbers.as_ref(), [11, 14, 15, 11, 14, 15]);
    }
}
