//! Sweeps: the results of all sliding windows in one pass over sorted rows.
//!
//! Both bounds of the [`RowSpan`]s never go back. Every row enters once and leaves once, with any
//! number of rows in a window. A gap between two spans (the next key) also empties the sweep.
//!
//! | algorithm | for |
//! |---|---|
//! | [`subtract_on_evict`] | values that can be subtracted exactly: counts, exact totals |
//! | [`monotonic_deque`] | choices of one row: min, max, `min_by`, ... |
//! | [`two_stacks`] | all states that merge |

use std::collections::VecDeque;

use arrow_array::ArrayRef;

use super::RowSpan;
use super::row_spans::RowSpans;
use super::scalar::Scalar;
use super::total::Total;

/// Row spans as ranges of row numbers.
fn ranges(spans: &[RowSpan]) -> impl Iterator<Item = (usize, usize)> {
    spans
        .iter()
        .map(|span| (span.from as usize, span.to as usize))
}

/// One state: rows are added at one end and removed at the other.
///
/// ```text
///        from ─────────── to
///   ······├───┼───┼───┼───┤······   insert(row) at `to`, evict(row) at `from`
/// ```
pub(super) fn subtract_on_evict<S>(
    spans: RowSpans<'_>,
    state: &mut S,
    insert: impl Fn(&mut S, usize),
    evict: impl Fn(&mut S, usize),
    mut emit: impl FnMut(&S),
) {
    let (mut left, mut right) = (0, 0);
    for stretch in spans.stretches() {
        for (from, to) in ranges(stretch) {
            if from >= right {
                (left..right).for_each(|row| evict(state, row));
                (left, right) = (from, from);
            }
            (right..to).for_each(|row| insert(state, row));
            (left..from).for_each(|row| evict(state, row));
            (left, right) = (from, to.max(right));
            emit(state);
        }
    }
}

/// A deque of rows that no later row beats. The first one is the choice.
///
/// `valid` selects the rows. `beats(new, old)` says whether a later row makes an earlier one
/// superfluous.
pub(super) fn monotonic_deque(
    spans: RowSpans<'_>,
    valid: impl Fn(usize) -> bool,
    beats: impl Fn(usize, usize) -> bool,
    mut emit: impl FnMut(Option<usize>),
) {
    let mut deque: VecDeque<usize> = VecDeque::new();
    let mut right = 0;
    for stretch in spans.stretches() {
        for (from, to) in ranges(stretch) {
            for row in right.max(from)..to {
                if valid(row) {
                    while deque.back().is_some_and(|&last| beats(row, last)) {
                        deque.pop_back();
                    }
                    deque.push_back(row);
                }
            }
            right = right.max(to);
            while deque.front().is_some_and(|&first| first < from) {
                deque.pop_front();
            }
            emit(deque.front().copied());
        }
    }
}

/// A stack of suffixes and one running state: each row is added at most twice and never subtracted.
///
/// ```text
///        from        middle        to
///   ······├─── front ──┼─── back ───┤······
///           suffixes     running state
/// ```
pub(super) fn two_stacks<S: Clone>(
    spans: RowSpans<'_>,
    identity: S,
    add: impl Fn(&mut S, usize),
    merge: impl Fn(&mut S, &S),
    mut emit: impl FnMut(&S),
) {
    let mut front: Vec<S> = Vec::new();
    let mut back = identity.clone();
    let (mut middle, mut right) = (0, 0);
    for stretch in spans.stretches() {
        for (from, to) in ranges(stretch) {
            if from >= middle {
                front.clear();
                back = identity.clone();
                let mut suffix = identity.clone();
                for row in (from..to).rev() {
                    add(&mut suffix, row);
                    front.push(suffix.clone());
                }
                middle = to;
            } else {
                (right..to).for_each(|row| add(&mut back, row));
                front.truncate(middle - from);
            }
            right = to;
            match front.last() {
                Some(suffix) => {
                    let mut state = suffix.clone();
                    merge(&mut state, &back);
                    emit(&state);
                }
                None => emit(&back),
            }
        }
    }
}

/// The states of spans, each made from the total and the number of its values: by
/// [`subtract_on_evict`] if totals are exact, else by [`two_stacks`].
pub(super) fn totals<V: Copy, T: Total<V>, S>(
    value: impl Fn(usize) -> Option<V>,
    spans: RowSpans<'_>,
    state: impl Fn(T, i64) -> S,
) -> Vec<S> {
    let mut states = Vec::with_capacity(spans.len());
    let emit = |(total, count): &(T, i64)| states.push(state(total.clone(), *count));
    let insert = |(total, count): &mut (T, i64), row: usize| {
        if let Some(value) = value(row) {
            total.add(value);
            *count += 1;
        }
    };
    let evict = |(total, count): &mut (T, i64), row: usize| {
        if let Some(value) = value(row) {
            total.subtract(value);
            *count -= 1;
        }
    };
    let merge = |left: &mut (T, i64), right: &(T, i64)| {
        left.0.merge(&right.0);
        left.1 += right.1;
    };
    let mut identity = (T::default(), 0);
    if T::EXACT {
        subtract_on_evict(spans, &mut identity, insert, evict, emit);
    } else {
        two_stacks(spans, identity, insert, merge, emit);
    }
    states
}

/// The values of rows; null for no row and for a null row.
pub(super) fn gather<V: Scalar>(
    values: &V::Array,
    rows: impl IntoIterator<Item = Option<usize>>,
) -> ArrayRef {
    V::column(rows.into_iter().map(|row| V::read(values, row?)))
}
