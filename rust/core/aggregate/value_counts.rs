//! The values of a window and how often each occurs: the state of `percentile`, `median`, `mode` and
//! others. Both zeros count as 0.0, and all NaNs as one value.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::argument::{Argument, Value};
use super::code_counts::CodeCounts;
use super::column::{Lists, list};
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::value_dictionary::Dictionary;
use super::{InputRows, row_counts, state_columns, sweep};
use crate::core::error::Result;

/// Ascending values without repeats, and a tail of values that may be among them or repeat.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueCounts<V> {
    counts: Vec<(V, i64)>,
    sorted: usize,
}

impl<V: Scalar> ValueCounts<V> {
    /// A shorter tail is not sorted.
    const TAIL: usize = 8;

    /// Adds a value.
    pub(super) fn add(&mut self, value: V::Ref<'_>) {
        self.insert(V::canonical(value), 1);
    }

    fn insert(&mut self, value: V::Ref<'_>, count: i64) {
        let sorted = self.counts.get_mut(..self.sorted).unwrap_or_default();
        let place = sorted.binary_search_by(|(other, _)| V::compare(other.get(), value));
        let held = match place {
            Ok(place) => sorted.get_mut(place),
            Err(_) => self
                .counts
                .last_mut()
                .filter(|(last, _)| V::compare(last.get(), value).is_eq()),
        };
        match held {
            Some((_, held)) => *held = held.saturating_add(count),
            None => {
                self.counts.push((V::from_ref(value), count));
                if self.counts.len() - self.sorted > self.sorted.max(Self::TAIL) {
                    self.sort();
                }
            }
        }
    }

    fn sort(&mut self) {
        self.counts
            .sort_by(|(left, _), (right, _)| V::compare(left.get(), right.get()));
        self.counts.dedup_by(|(later, count), (kept, held)| {
            let same = V::compare(later.get(), kept.get()).is_eq();
            if same {
                *held = held.saturating_add(*count);
            }
            same
        });
        self.sorted = self.counts.len();
    }

    /// Adds the values of another state.
    pub(super) fn merge(&mut self, other: &Self) {
        for (value, count) in &other.counts {
            self.insert(value.get(), *count);
        }
    }

    /// The values, ascending, each once, with how often it occurs.
    pub(super) fn ascending(&self) -> Vec<(V::Ref<'_>, i64)> {
        let mut counts: Vec<(V::Ref<'_>, i64)> = self
            .counts
            .iter()
            .map(|(value, count)| (value.get(), *count))
            .collect();
        if self.sorted < counts.len() {
            counts.sort_by(|&(left, _), &(right, _)| V::compare(left, right));
            counts.dedup_by(|later, kept| {
                let same = V::compare(later.0, kept.0).is_eq();
                if same {
                    kept.1 = kept.1.saturating_add(later.1);
                }
                same
            });
        }
        counts
    }

    /// Lists of values, and lists of as many counts.
    pub(super) fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
        let (mut offsets, mut values, mut counts) = (vec![0], Vec::new(), Vec::new());
        for state in states {
            for (value, count) in state.ascending() {
                values.push(value);
                counts.push(count);
            }
            offsets.push(values.len() as i64);
        }
        let values = V::dense(values);
        vec![
            list(offsets.clone(), values),
            list(offsets, i64::dense(counts)),
        ]
    }

    /// Reads what [`Self::save`] wrote.
    pub(super) fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
        let [values, counts] = state_columns(columns)?;
        let (values, counts) = (Lists::of(values)?, Lists::of(counts)?);
        let (view, numbers) = (V::view(values.elements)?, row_counts(counts.elements)?);
        let counted = |element: usize| {
            let count = numbers.get(element).filter(|count| **count > 0)?;
            Some((V::from_ref(V::canonical(V::at(view, element))), *count))
        };
        let state = |own: Range<usize>| {
            let mut state = Self {
                counts: own.filter_map(counted).collect(),
                sorted: 0,
            };
            state.sort();
            state
        };
        Ok(values.ranges(&[counts])?.map(state).collect())
    }

    /// Calls `emit` with the counts of the codes of each span's values, and with a function that gives
    /// the value of a code.
    pub(super) fn sweep<'a>(
        rows: InputRows<'a>,
        spans: RowSpans<'_>,
        mut emit: impl FnMut(&CodeCounts, &dyn Fn(u32) -> Option<V::Ref<'a>>),
    ) -> Result<()> {
        let values = Value::<V>::columns(rows)?;
        let dictionary = Dictionary::new::<V>(values, &spans);
        let code = |row: usize| dictionary.code(row);
        let value = |code: u32| dictionary.value::<V>(values, code).map(V::canonical);
        sweep::subtract_on_evict(
            spans,
            &mut CodeCounts::new(dictionary.len()),
            |counts, row| code(row).into_iter().for_each(|code| counts.insert(code)),
            |counts, row| code(row).into_iter().for_each(|code| counts.evict(code)),
            |counts| emit(counts, &value),
        );
        Ok(())
    }
}
