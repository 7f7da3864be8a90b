//! Sweeps: the results of all sliding windows in one pass over sorted rows.
//!
//! Both bounds of the [`Run`]s never go back. Every row enters once and leaves once, whatever the
//! number of rows in a window. A gap between two runs (the next key) empties the sweep by itself.

use std::collections::VecDeque;

use super::Run;
use super::column::Column;
use super::scalar::Scalar;
use super::total::Total;
use crate::error::Result;

/// Runs as ranges of row numbers.
fn ranges(runs: &[Run]) -> impl Iterator<Item = (usize, usize)> {
    runs.iter().map(|run| (run.from as usize, run.to as usize))
}

/// For what can be subtracted exactly: the running state, rows added at one end and taken off at
/// the other.
///
/// ```text
///        from ─────────── to
///   ······├───┼───┼───┼───┤······   enter(row) at `to`, leave(row) at `from`
/// ```
pub(super) fn running<S>(
    runs: &[Run],
    state: &mut S,
    enter: impl Fn(&mut S, usize),
    leave: impl Fn(&mut S, usize),
    mut emit: impl FnMut(&S),
) {
    let (mut left, mut right) = (0, 0);
    for (from, to) in ranges(runs) {
        if from >= right {
            (left..right).for_each(|row| leave(state, row));
            (left, right) = (from, from);
        }
        (right..to).for_each(|row| enter(state, row));
        (left..from).for_each(|row| leave(state, row));
        (left, right) = (from, to.max(right));
        emit(state);
    }
}

/// For choices of one row (min, max, `min_by`, ...): a deque of rows, each beaten by none after it.
///
/// `valid` tells which rows take part; `beats(new, old)` whether a later row makes an earlier one
/// superfluous.
pub(super) fn choose(
    runs: &[Run],
    valid: impl Fn(usize) -> bool,
    beats: impl Fn(usize, usize) -> bool,
    mut emit: impl FnMut(Option<usize>),
) {
    let mut deque: VecDeque<usize> = VecDeque::new();
    let mut right = 0;
    for (from, to) in ranges(runs) {
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

/// For whatever merges, in any order: two stacks, each row lifted at most twice and never
/// subtracted.
///
/// ```text
///        from        middle        to
///   ······├─── front ──┼─── back ───┤······
///          suffix sums   one running sum
/// ```
pub(super) fn two_stacks<S: Clone>(
    runs: &[Run],
    identity: S,
    lift: impl Fn(&mut S, usize),
    combine: impl Fn(&mut S, &S),
    mut emit: impl FnMut(&S),
) {
    let mut front: Vec<S> = Vec::new();
    let mut back = identity.clone();
    let (mut middle, mut right) = (0, 0);
    for (from, to) in ranges(runs) {
        if from >= middle {
            front.clear();
            back = identity.clone();
            let mut suffix = identity.clone();
            for row in (from..to).rev() {
                lift(&mut suffix, row);
                front.push(suffix.clone());
            }
            middle = to;
        } else {
            (right..to).for_each(|row| lift(&mut back, row));
            front.truncate(middle - from);
        }
        right = to;
        match front.last() {
            Some(suffix) => {
                let mut state = suffix.clone();
                combine(&mut state, &back);
                emit(&state);
            }
            None => emit(&back),
        }
    }
}

/// Totals and counts of values: [`running`] where the total is exact, [`two_stacks`] where it is
/// not.
pub(super) fn totals<V: Copy, T: Total<V>>(
    column: &Column<'_>,
    value: impl Fn(usize) -> V,
    runs: &[Run],
    mut emit: impl FnMut(T, i64),
) {
    let enter = |state: &mut (T, i64), row: usize| {
        if column.is_valid(row) {
            state.0.add(value(row));
            state.1 += 1;
        }
    };
    let leave = |state: &mut (T, i64), row: usize| {
        if column.is_valid(row) {
            state.0.subtract(value(row));
            state.1 -= 1;
        }
    };
    let combine = |left: &mut (T, i64), right: &(T, i64)| {
        left.0.merge(&right.0);
        left.1 += right.1;
    };
    let mut identity = (T::default(), 0);
    if T::EXACT {
        running(runs, &mut identity, enter, leave, |&(total, count)| {
            emit(total, count)
        });
    } else {
        two_stacks(runs, identity, enter, combine, |&(total, count)| {
            emit(total, count)
        });
    }
}

/// The values of chosen rows; null where none is chosen or the chosen one is null.
pub(super) fn pick<V: Scalar>(
    column: &Column<'_>,
    rows: impl IntoIterator<Item = Option<usize>>,
) -> Result<Column<'static>> {
    let values = V::view(column)?;
    let value = |row: usize| column.is_valid(row).then(|| V::at(values, row));
    Ok(V::column(rows.into_iter().map(|row| row.and_then(value))))
}
