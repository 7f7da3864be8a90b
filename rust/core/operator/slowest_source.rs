//! Finds the slowest source of an input without looking at each source.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::core::time::Time;

/// A heap of sources, ordered by an earlier time of each. A source may have passed that time since.
///
/// ```text
///   heap     a 10 · b 20 · c 20        a moves to 40: the heap stays
///   slowest  a has passed 10:  b 20 · c 20 · a 40, so b at 20
/// ```
///
/// A source moves down only if it is the least in the heap and has passed its time there. So each
/// rise of a source costs at most one move, which is logarithmic in the number of sources.
#[derive(Clone, Debug, Default)]
pub(super) struct SlowestSource<S: Ord>(BinaryHeap<Reverse<(Time, S)>>);

impl<S: Ord + Copy> SlowestSource<S> {
    /// Builds the heap from sources and their times.
    pub(super) fn of(sources: &[(S, Time)]) -> Self {
        let entries = sources
            .iter()
            .map(|&(source, time)| Reverse((time, source)));
        Self(entries.collect())
    }

    /// Adds a source that is not in the heap.
    pub(super) fn insert(&mut self, source: S, time: Time) {
        self.0.push(Reverse((time, source)));
    }

    /// The time of the slowest source. `current` returns the time of a source, which never goes
    /// back.
    pub(super) fn time(&mut self, current: impl Fn(S) -> Option<Time>) -> Option<Time> {
        while let Some(mut least) = self.0.peek_mut() {
            let Reverse((time, source)) = *least;
            match current(source) {
                Some(now) if now == time => return Some(time),
                Some(now) => *least = Reverse((now, source)),
                None => drop(PeekMut::pop(least)),
            }
        }
        None
    }
}
